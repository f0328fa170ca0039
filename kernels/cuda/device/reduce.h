#pragma once

// Reductions of a value over any of its dimensions, in two stages: what is reduced is cut into
// chunks, whose results are reduced in their order. The chunks depend on the shape alone, so that
// the bits are the same on every device. Device code, and its launches. Threading as in
// kernels/kernel.h.

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/strided_walk.h"

namespace hocket::kernels {

/// The value that is reduced, by the dimensions that stay and those that do not: number r of result
/// k is at kept(k) + reduced(r).
struct Reduction {
  StridedWalk<1> kept, reduced;
  std::int64_t results = 1, numbers = 1;  ///< numbers of each result
  std::int64_t chunks = 1, chunk = 1;     ///< chunks of these numbers, and their length
  bool has_rows = false;                  ///< neighbours are of one result

  std::int64_t scratch_floats() const { return chunks == 1 ? 0 : chunks * results; }
};

/// Requires the strides of the result, 0 in the dimensions that are reduced.
inline Reduction reduction_of(const Shape& shape, const DimensionStrides& result_strides) {
  const DimensionStrides strides = dense_strides(shape);
  Shape kept, reduced;
  DimensionStrides of_kept, of_reduced;
  bool has_rows = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    has_rows = result_strides[i] == 0;
    (has_rows ? reduced : kept).push_back(shape[i]);
    (has_rows ? of_reduced : of_kept).push_back(strides[i]);
  }
  const Repeated<1> of_results(kept, {of_kept}), of_numbers(reduced, {of_reduced});
  Reduction all{.kept = StridedWalk<1>(of_results), .reduced = StridedWalk<1>(of_numbers)};
  all.results = of_results.count();
  all.numbers = of_numbers.count();
  all.has_rows = has_rows;
  // A thread adds up 64 numbers or more, and there are enough of them for a large device.
  const std::int64_t fewest = has_rows ? 64 * kWarp : 64;
  const std::int64_t threads = all.results * (has_rows ? kWarp : 1);
  const std::int64_t most = std::max<std::int64_t>((std::int64_t{1} << 18) / threads, 1);
  all.chunks = std::clamp<std::int64_t>((all.numbers + fewest - 1) / fewest, 1,
                                        std::min<std::int64_t>(most, 8192));
  all.chunk = (all.numbers + all.chunks - 1) / all.chunks;
  return all;
}

/// Combines over the lanes, to all of them.
template <class Reducer>
__device__ float warp_reduce(const Reducer& reducer, float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = reducer.combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  return value;
}

/// Block y takes a chunk; a warp takes a result where neighbours are of one, otherwise a thread. A
/// Reducer has take(x, k), which makes something of a number of result k; combine(a, b), its
/// identity(), and finish().
template <bool HasRows, bool IsLast, class T, class To, class Reducer>
__global__ void reduce_kernel(const __grid_constant__ Reduction all, Reducer reducer, const T* x,
                              To* y) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t k = HasRows ? thread / kWarp : thread;
  if (k >= all.results) return;
  const std::int64_t first = HasRows ? thread % kWarp : 0, step = HasRows ? kWarp : 1;
  const T* const from = x + all.kept.find(k);
  for (std::int64_t chunk = blockIdx.y; chunk < all.chunks; chunk += gridDim.y) {
    const std::int64_t begin = chunk * all.chunk;
    const std::int64_t end = begin + all.chunk < all.numbers ? begin + all.chunk : all.numbers;
    float value = reducer.identity();
    for (std::int64_t r = begin + first; r < end; r += step)
      value = reducer.combine(value, reducer.take(to_float(from[all.reduced.find(r)]), k));
    if constexpr (HasRows) value = warp_reduce(reducer, value);
    if (HasRows && first != 0) continue;
    if constexpr (IsLast)
      assign(reducer.finish(value), y[k]);
    else
      assign(value, y[chunk * all.results + k]);
  }
}

/// Combines the results of the chunks: a warp takes a result.
template <class To, class Reducer>
__global__ void combine_chunks_kernel(Reduction all, Reducer reducer, const float* parts, To* y) {
  const auto k = static_cast<std::int64_t>(row_of_warp());
  if (k >= all.results) return;
  float value = reducer.identity();
  for (std::int64_t chunk = lane(); chunk < all.chunks; chunk += kWarp)
    value = reducer.combine(value, parts[chunk * all.results + k]);
  value = warp_reduce(reducer, value);
  if (lane() == 0) assign(reducer.finish(value), y[k]);
}

/// `scratch` holds scratch_floats().
template <class T, class To, class Reducer>
Result<void> reduce(const char* name, const Reduction& all, const Reducer& reducer, const T* x,
                    To* y, float* scratch, DeviceStream stream) {
  constexpr unsigned kThreads = 4 * kWarp;
  const std::int64_t threads = all.results * (all.has_rows ? kWarp : 1);
  const LaunchGrid grid{blocks_for(static_cast<std::size_t>(threads), kThreads),
                        static_cast<unsigned>(all.chunks), kThreads};
  if (all.chunks == 1) {
    return launch(name,
                  all.has_rows ? reduce_kernel<true, true, T, To, Reducer>
                               : reduce_kernel<false, true, T, To, Reducer>,
                  grid, stream, all, reducer, x, y);
  }
  HOCKET_TRY(launch(name,
                    all.has_rows ? reduce_kernel<true, false, T, float, Reducer>
                                 : reduce_kernel<false, false, T, float, Reducer>,
                    grid, stream, all, reducer, x, scratch));
  return launch(name, combine_chunks_kernel<To, Reducer>,
                rows_grid(static_cast<std::size_t>(all.results)), stream, all, reducer, scratch, y);
}

}  // namespace hocket::kernels
