#pragma once

// Device functions shared by the kernels: packs of elements that are read and written at once, and
// reductions. All arithmetic is in float32. A reduction adds in an order fixed by the thread
// numbers. Device code; all threads of a warp or block call a reduction together.

#include <cstddef>

#include "kernels/cuda/device/launch.h"

namespace hocket::kernels {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline int lane() {
  return static_cast<int>(threadIdx.x % kWarp);
}
__device__ inline int warp() {
  return static_cast<int>(threadIdx.x / kWarp);
}

/// N contiguous elements, aligned for the widest load of the device: up to 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T values[N];
};

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}
__device__ inline void assign(float value, __half& to) {
  to = __float2half(value);
}
__device__ inline void assign(float value, float& to) {
  to = value;
}
__device__ inline void assign(float value, __nv_bfloat16& to) {
  to = __float2bfloat16(value);
}

template <class T, int N>
__device__ void load(const T* from, float (&values)[N]) {
#ifdef HOCKET_EMULATED_DEVICE
  emulated::expect_aligned(from, alignof(Pack<T, N>));
#endif
  const Pack<T, N> pack = *reinterpret_cast<const Pack<T, N>*>(from);
  for (int j = 0; j < N; ++j) values[j] = to_float(pack.values[j]);
}

template <class T, int N>
__device__ void store(const float (&values)[N], T* to) {
#ifdef HOCKET_EMULATED_DEVICE
  emulated::expect_aligned(to, alignof(Pack<T, N>));
#endif
  Pack<T, N> pack;
  for (int j = 0; j < N; ++j) assign(values[j], pack.values[j]);
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

/// Runs the whole grid over `count` elements, N at a time and the rest one by one: body<M>(i)
/// handles the M elements from i on, where M is N or 1.
template <int N, class Body>
__device__ void for_elements(std::size_t count, const Body& body) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t packs = count / N;
  for (std::size_t i = first; i < packs; i += step) {
    body.template operator()<N>(i * N);
  }
  for (std::size_t i = packs * N + first; i < count; i += step) {
    body.template operator()<1>(i);
  }
}

/// A grid for for_elements<N>.
inline LaunchGrid elements_grid(std::size_t count, int n) {
  constexpr std::size_t kThreads = 256, kMostBlocks = 1 << 16;
  const std::size_t packs = (count + n - 1) / n;
  const unsigned blocks =
      blocks_for(packs < kThreads * kMostBlocks ? packs : kThreads * kMostBlocks, kThreads);
  return {.x = blocks, .y = 1, .threads = kThreads};
}

/// A matrix is processed with one warp per row.
constexpr int kRowsPerBlock = 4;

inline LaunchGrid rows_grid(std::size_t rows) {
  return {.x = blocks_for(rows, kRowsPerBlock), .y = 1, .threads = kRowsPerBlock * kWarp};
}

/// Returns the row of this warp, which may be beyond the last.
__device__ inline std::size_t row_of_warp() {
  return static_cast<std::size_t>(blockIdx.x) * kRowsPerBlock + warp();
}

/// Runs the lanes of a warp together over a row: body(i) for each pack of N elements that begins
/// before `end`.
template <int N, class Body>
__device__ void for_row(int end, const Body& body) {
  for (int i = lane() * N; i < end; i += kWarp * N) body(i);
}

/// Returns the sum over the lanes to all of them.
template <class Value>
__device__ Value warp_sum(Value value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

__device__ inline float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

/// Returns the sum over a block of up to 32 warps to all of its threads, all of which must call it.
/// `per_warp` is shared memory with one value per warp.
template <class Value>
__device__ Value block_sum(Value value, Value* per_warp) {
  value = warp_sum(value);
  __syncthreads();  // per_warp may still be in use
  if (lane() == 0) per_warp[warp()] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  return warp_sum(lane() < warps ? per_warp[lane()] : Value(0));
}

__device__ inline float block_max(float value, float* per_warp) {
  value = warp_max(value);
  __syncthreads();
  if (lane() == 0) per_warp[warp()] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  return warp_max(per_warp[lane() < warps ? lane() : 0]);
}

}  // namespace hocket::kernels
