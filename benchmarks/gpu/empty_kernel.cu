#include "benchmarks/gpu/empty_kernel.h"

#include "core/cuda/driver/cuda_stream.h"

namespace hocket {
namespace {

__global__ void nothing() {}

}  // namespace

Result<void> launch_empty_kernel(DeviceStream stream) {
  nothing<<<1, 32, 0, cuda_stream(stream)>>>();
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return {};
  return failure(ErrorCode::unavailable, cudaGetErrorString(error));
}

}  // namespace hocket
