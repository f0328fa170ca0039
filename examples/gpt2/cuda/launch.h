#pragma once

// What the kernels are written in, and how they are launched: CUDA where nvcc compiles, elsewhere
// whatever has defined the same names before this is included. The tests have an emulation that
// does; the sources of the kernels are the same for both.

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "core/cuda/driver/cuda_stream.h"
#elif !defined(HOCKET_EMULATED_DEVICE)
#error "kernels are compiled by nvcc, or after an emulation of its language"
#endif

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/driver/element_type.h"

namespace hocket::kernels {

/// x × y blocks of `threads` threads, a multiple of 32. y is at most 65,535.
struct LaunchGrid {
  unsigned x = 0, y = 1, threads = 0;
};

/// Puts `kernel` into the stream; nothing where there are no blocks. unavailable: "`name`: …".
template <class... Parameters>
Result<void> launch(const char* name, void (*kernel)(Parameters...), const LaunchGrid& grid,
                    DeviceStream stream, std::type_identity_t<Parameters>... arguments) {
  if (grid.x == 0 || grid.y == 0) return {};
#ifdef __CUDACC__
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(grid.x, grid.y);
  config.blockDim = dim3(grid.threads);
  config.stream = cuda_stream(stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // it would otherwise show in a later call
  return failure(ErrorCode::unavailable, std::string(name) + ": " + cudaGetErrorString(error) +
                                             " (" + cudaGetErrorName(error) + ")");
#else
  return emulated::launch(stream, name, dim3(grid.x, grid.y), dim3(grid.threads),
                          [=] { kernel(arguments...); });
#endif
}

/// Blocks for `count` things, `each` to a block.
constexpr unsigned blocks_for(std::size_t count, std::size_t each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

inline bool are_aligned(std::initializer_list<const void*> buffers) {
  for (const void* buffer : buffers) {
    if (reinterpret_cast<std::uintptr_t>(buffer) % 16 != 0) return false;
  }
  return true;
}

/// Calls body<T, N>(): T is the type of the elements, N how many of them a thread takes at a time.
/// That is 16 bytes of them where all buffers are aligned to that and `width`, the length of a row,
/// is a multiple of it; else 1.
template <class Body>
Result<void> dispatch(ElementType type, std::size_t width,
                      std::initializer_list<const void*> buffers, const Body& body) {
  const bool whole = are_aligned(buffers) && width * element_bytes(type) % 16 == 0;
  if (type == ElementType::bfloat16) {
    return whole ? body.template operator()<__nv_bfloat16, 8>()
                 : body.template operator()<__nv_bfloat16, 1>();
  }
  return whole ? body.template operator()<float, 4>() : body.template operator()<float, 1>();
}

}  // namespace hocket::kernels
