#pragma once

// The language of the kernels and their launch: CUDA where nvcc compiles, and elsewhere an
// emulation that defines the same names before this header is included. The tests have such an
// emulation; the kernels' sources are the same for both. Any thread that uses the device.

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
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
#include "core/step/element_type.h"

namespace hocket::kernels {

/// A grid of x × y blocks of `threads` threads, a multiple of 32. y is at most 65,535.
struct LaunchGrid {
  unsigned x = 0, y = 1, threads = 0;
};

/// Puts `kernel` into the stream; does nothing if there are no blocks. Returns unavailable:
/// "`name`: …".
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
  cudaGetLastError();  // otherwise a later call would report it
  return failure(ErrorCode::unavailable, std::string(name) + ": " + cudaGetErrorString(error) +
                                             " (" + cudaGetErrorName(error) + ")");
#else
  return emulated::launch(stream, name, dim3(grid.x, grid.y), dim3(grid.threads),
                          [=] { kernel(arguments...); });
#endif
}

/// Returns the number of blocks for `count` items, `each` items per block.
constexpr unsigned blocks_for(std::size_t count, std::size_t each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

inline bool are_aligned(std::initializer_list<const void*> buffers) {
  for (const void* buffer : buffers) {
    if (reinterpret_cast<std::uintptr_t>(buffer) % 16 != 0) return false;
  }
  return true;
}

/// Calls body<T, N>(): T is the element type, N the number of elements a thread takes at a time:
/// as many as make 16 bytes `in_packs`, otherwise 1.
template <class Body>
Result<void> dispatch_packs(ElementType type, bool in_packs, const Body& body) {
  if (type == ElementType::float16) return invalid("float16: the kernels take float32 or bfloat16");
  if (type == ElementType::bfloat16) {
    return in_packs ? body.template operator()<__nv_bfloat16, 8>()
                    : body.template operator()<__nv_bfloat16, 1>();
  }
  return in_packs ? body.template operator()<float, 4>() : body.template operator()<float, 1>();
}

/// The same, in packs if all buffers are aligned to 16 bytes and `width`, the length of a row, is a
/// multiple of a pack.
template <class Body>
Result<void> dispatch(ElementType type, std::size_t width,
                      std::initializer_list<const void*> buffers, const Body& body) {
  return dispatch_packs(type, are_aligned(buffers) && width * element_bytes(type) % 16 == 0, body);
}

}  // namespace hocket::kernels
