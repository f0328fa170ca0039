#pragma once

// CUDA's model of execution on the host, so that the sources of kernels compile and run as plain
// C++: include this before them. Blocks run one after the other; the threads of a block are fibers,
// which switch where CUDA's threads wait for each other: at barriers and at exchanges within a
// warp. The order of blocks and warps, and that of lanes between two such places, is random,
// another with each launch, so what depends on it (a missing barrier, two blocks that add to one
// place) gives results that differ.
//
// Stricter than a device: all threads of a block have to come to the same barrier, all lanes of a
// warp to the same exchange, none may have ended before; blocks are whole warps. The memory of a
// __shared__ variable holds what the block before left there. One thread at a time.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"

#define HOCKET_EMULATED_DEVICE 1
#define __global__
#define __device__
#define __shared__ static

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

/// To the nearest, ties to even.
inline __nv_bfloat16 __float2bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {0x7fff};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

namespace hocket::emulated {

using Place = std::source_location;

/// Runs `thread` for each thread of the grid. unavailable, and nothing more of the launch is run,
/// where the threads come apart or an access is not aligned: "`kernel`: what and where".
Result<void> run(const char* kernel, dim3 grid, dim3 block, const std::function<void()>& thread);

/// What puts work into a stream of a test's device. Null, as it is at first: launch() runs at once.
using PutWork = std::function<void(DeviceStream stream, std::function<void()> work)>;
void set_put_work(PutWork put);

/// run(), when the stream comes to it. Work that was put must not fail.
Result<void> launch(DeviceStream stream, const char* kernel, dim3 grid, dim3 block,
                    std::function<void()> thread);

// For the thread that runs.

/// Waits for all threads of the block; whether `predicate` holds for any of them.
bool meet_block(bool predicate, Place place);

/// Waits for all lanes of the warp, and lets them have `bytes` of `value`, up to 8.
void meet_warp(unsigned lanes, const void* value, std::size_t bytes, Place place);
/// What the lane brought to the last meeting.
const void* brought_by(unsigned lane);

/// Ends the launch where `address` is not a multiple of `bytes`.
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

/// The number of the lowest bit that is set, from 1; 0 where none is.
inline int __ffs(int value) {
  return value == 0 ? 0 : std::countr_zero(static_cast<unsigned>(value)) + 1;
}
