#pragma once

// The memory of a CUDA device for kernels, with kernels that take and keep what changes from step
// to step (batches.h). Threading as in KernelMemory.

#include <memory>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "kernels/kernel_memory.h"

namespace hocket {

/// `driver` must outlive the memory. Returns unavailable with the driver's message.
Result<std::unique_ptr<KernelMemory>> open_cuda_memory(DeviceDriver& driver);

}  // namespace hocket
