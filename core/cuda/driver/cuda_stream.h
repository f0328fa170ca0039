#pragma once

// For kernels and libraries of CUDA, in the body of a task: the runtime's own handle of a stream.

#include <cuda_runtime_api.h>

#include "core/cuda/driver/device_driver.h"

namespace hocket {

inline cudaStream_t cuda_stream(DeviceStream stream) {
  return static_cast<cudaStream_t>(stream.handle);
}

}  // namespace hocket
