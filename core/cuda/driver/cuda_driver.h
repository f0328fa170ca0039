#pragma once

// Implementation of DeviceDriver by the CUDA runtime. Any thread.

#include <memory>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

/// Opens device `ordinal`, counted from 0 over the devices visible to the runtime. Returns
/// unavailable, as probe_cuda() does, when no device can be used, and invalid_argument when there
/// are fewer devices.
Result<std::unique_ptr<DeviceDriver>> open_cuda_device(int ordinal);

}  // namespace hocket
