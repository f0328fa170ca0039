#pragma once

// Converts a DeviceStream to the CUDA runtime's handle, for kernels and CUDA libraries called in
// the body of a task. Any thread.

#include <cuda_runtime_api.h>

#include "core/cuda/driver/device_driver.h"

namespace hocket {

inline cudaStream_t cuda_stream(DeviceStream stream) {
  return static_cast<cudaStream_t>(stream.handle);
}

}  // namespace hocket
