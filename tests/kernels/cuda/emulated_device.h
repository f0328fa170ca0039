#pragma once

// Emulates CUDA's execution model on the host, so that the sources of kernels compile and run as
// plain C++: include this before them. Blocks run one after the other. The threads of a block are
// fibers, which switch where CUDA's threads wait for each other: at barriers and at exchanges
// within a warp. The order of blocks and warps, and that of lanes between two such points, is
// random and changes with each launch, so order-dependent errors (a missing barrier, two blocks
// that add to one address) give different results.
//
// Stricter than a device: all threads of a block must reach the same barrier and all lanes of a
// warp the same exchange, none may have ended before; blocks are whole warps. A __shared__ variable
// keeps the values of the block before. One thread at a time.
//
// A launch that is put into a stream reports all memory that it reads and writes. For that, the
// compiler calls the emulation at each access (GCC's -fsanitize=thread, whose calls the emulation
// implements): kernels have nothing to declare, and none can be forgotten. Not in builds with
// sanitizers, which exclude that one.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"

#define HOCKET_EMULATED_DEVICE 1
#define __global__
#define __device__
#define __shared__ static
#define __grid_constant__

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr explicit dim3(unsigned across = 1, unsigned down = 1) : x(across), y(down) {}
};

inline dim3 gridDim, blockDim, blockIdx, threadIdx;

struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

/// Rounds to nearest, ties to even.
inline __nv_bfloat16 __float2bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {0x7fff};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

struct __half {
  _Float16 value;
};

inline float __half2float(__half value) {
  return static_cast<float>(value.value);
}
/// Rounds as __float2bfloat16().
inline __half __float2half(float value) {
  if (std::isnan(value)) return std::bit_cast<__half>(std::uint16_t{0x7fff});
  return {static_cast<_Float16>(value)};
}

namespace hocket::emulated {

using Place = std::source_location;

/// Runs `thread` for each thread of the grid. Returns unavailable, and stops the launch, if the
/// threads diverge at a barrier or an access is misaligned; the message is "`kernel`: problem and
/// location".
Result<void> run(const char* kernel, dim3 grid, dim3 block, const std::function<void()>& thread);

/// A range of memory that a launch read or wrote.
struct AccessedMemory {
  const void* begin = nullptr;
  std::size_t bytes = 0;
  bool writes = false;
};

/// Puts work, which returns what it has accessed, into a stream of a test's device. Null, the
/// initial value: launch() runs immediately.
using Work = std::function<std::vector<AccessedMemory>()>;
using PutWork = std::function<void(DeviceStream stream, Work work)>;
void set_put_work(PutWork put);

/// Calls run() when the stream reaches it. Work put into a stream must not fail.
Result<void> launch(DeviceStream stream, const char* kernel, dim3 grid, dim3 block,
                    std::function<void()> thread);

// Functions for the running thread.

/// Waits for all threads of the block; returns whether `predicate` is true in any of them.
bool meet_block(bool predicate, Place place);

/// Waits for all lanes of the warp, and shares `bytes` of `value` with them, up to 8.
void meet_warp(unsigned lanes, const void* value, std::size_t bytes, Place place);
/// Returns the value that the lane shared at the last exchange.
const void* brought_by(unsigned lane);

/// Ends the launch if `address` is not a multiple of `bytes`.
void expect_aligned(const void* address, std::size_t bytes, Place place = Place::current());

}  // namespace hocket::emulated

inline void __syncthreads(hocket::emulated::Place place = hocket::emulated::Place::current()) {
  hocket::emulated::meet_block(false, place);
}

inline int __syncthreads_or(int predicate,
                            hocket::emulated::Place place = hocket::emulated::Place::current()) {
  return hocket::emulated::meet_block(predicate != 0, place);
}

template <class T>
T __shfl_xor_sync(unsigned lanes, T value, int distance,
                  hocket::emulated::Place place = hocket::emulated::Place::current()) {
  hocket::emulated::meet_warp(lanes, &value, sizeof value, place);
  const unsigned from = threadIdx.x % 32 ^ static_cast<unsigned>(distance);
  return *static_cast<const T*>(hocket::emulated::brought_by(from));
}

inline unsigned __ballot_sync(unsigned lanes, bool predicate,
                              hocket::emulated::Place place = hocket::emulated::Place::current()) {
  hocket::emulated::meet_warp(lanes, &predicate, sizeof predicate, place);
  unsigned ballot = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    ballot |= unsigned{*static_cast<const bool*>(hocket::emulated::brought_by(lane))} << lane;
  }
  return ballot;
}

inline void __syncwarp(hocket::emulated::Place place = hocket::emulated::Place::current()) {
  hocket::emulated::meet_warp(0xffffffffu, nullptr, 0, place);
}

inline int __popc(unsigned value) {
  return std::popcount(value);
}

/// Returns the number of the lowest set bit, from 1; 0 if none is set.
inline int __ffs(int value) {
  return value == 0 ? 0 : std::countr_zero(static_cast<unsigned>(value)) + 1;
}
