#include <cuda_runtime_api.h>

#include "core/cuda/driver/capability.h"

namespace hocket {

Result<CudaCapability> probe_cuda() {
  CudaCapability found;
  // Both succeed without a driver.
  cudaRuntimeGetVersion(&found.runtime_version);
  cudaDriverGetVersion(&found.driver_version);
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  cudaGetLastError();  // otherwise a later call would report it
  HOCKET_TRY(judge_cuda(found.runtime_version, found.driver_version, devices, counted,
                        cudaGetErrorString(counted)));
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    cudaDeviceProp properties{};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
        error != cudaSuccess) {
      return failure(ErrorCode::unavailable,
                     "CUDA: device " + std::to_string(ordinal) +
                         " cannot be asked what it is: " + cudaGetErrorString(error));
    }
    found.devices.push_back({.name = properties.name,
                             .compute_major = properties.major,
                             .compute_minor = properties.minor,
                             .multiprocessors = properties.multiProcessorCount,
                             .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem)});
  }
  return found;
}

}  // namespace hocket
