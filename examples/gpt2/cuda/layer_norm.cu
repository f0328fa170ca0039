// Layer normalisation: one warp per row. Rows of up to 1,600 elements, the widths of GPT-2, are
// read once and stay in registers; the passes over wider or unaligned ones read them again, from
// the cache.

#include <cmath>
#include <utility>

#include "examples/gpt2/cuda/column_sums.h"
#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {
namespace {

constexpr float kLayerNormEpsilon = 1e-5f;

/// Returns the number of packs of N elements that a lane takes of a row.
constexpr int packs_of_lane(int n, int width) {
  return (width + kWarp * n - 1) / (kWarp * n);
}

/// A lane's packs of a row, in registers: `Packs` of them, or one at a time if it is 0.
template <int N, int Packs>
struct LaneOfRow {
  float packs[Packs == 0 ? 1 : Packs][N];
};

/// Runs the lanes of a warp together over a row: body(k, i) for pack k of the lane, whose first
/// element is i; k is 0 for all where Packs is 0. Unrolls completely, since registers have no
/// index.
template <int N, int Packs, class Body>
__device__ void for_packs(int width, const Body& body) {
  if constexpr (Packs == 0) {
    for_row<N>(width, [&](int i) { body(0, i); });
  } else {
    const auto at = [&](int k) {
      const int i = (k * kWarp + lane()) * N;
      if (i < width) body(k, i);
    };
    [&]<int... K>(std::integer_sequence<int, K...>) {
      (at(K), ...);
    }
    (std::make_integer_sequence<int, Packs>());
  }
}

template <class T, int N, int Packs>
__global__ void layer_norm_forward_kernel(LayerNormShape shape, const T* x, const float* gain,
                                          const float* bias, T* y, float* statistics) {
  const std::size_t row = row_of_warp();
  if (row >= static_cast<std::size_t>(shape.rows)) return;
  const T* in = x + row * shape.width;
  T* out = y + row * shape.width;
  LaneOfRow<N, Packs> own;
  const auto reload = [&](int k, int i) {
    if constexpr (Packs == 0) load(in + i, own.packs[k]);
  };
  float sum = 0, squares = 0;
  for_packs<N, Packs>(shape.width, [&](int k, int i) {
    load(in + i, own.packs[k]);
    for (const float v : own.packs[k]) sum += v;
  });
  const float mean = warp_sum(sum) / static_cast<float>(shape.width);
  for_packs<N, Packs>(shape.width, [&](int k, int i) {
    reload(k, i);
    for (const float v : own.packs[k]) squares += (v - mean) * (v - mean);
  });
  const float variance = warp_sum(squares) / static_cast<float>(shape.width);
  const float inverse = 1.0f / sqrtf(variance + kLayerNormEpsilon);
  for_packs<N, Packs>(shape.width, [&](int k, int i) {
    float gains[N], values[N];
    reload(k, i);
    load(gain + i, gains);
    load(bias + i, values);
    for (int j = 0; j < N; ++j) values[j] += (own.packs[k][j] - mean) * inverse * gains[j];
    store(values, out + i);
  });
  if (lane() == 0) {
    statistics[2 * row] = mean;
    statistics[2 * row + 1] = inverse;
  }
}

template <class T, int N, int Packs>
__global__ void layer_norm_backward_input_kernel(LayerNormShape shape, const T* x,
                                                 const float* gain, const float* statistics,
                                                 const T* dy, const T* skip, T* dx) {
  const std::size_t row = row_of_warp();
  if (row >= static_cast<std::size_t>(shape.rows)) return;
  const std::size_t begin = row * shape.width;
  const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
  LaneOfRow<N, Packs> centred, scaled;
  const auto load_packs = [&](int k, int i) {
    float gains[N];
    load(x + begin + i, centred.packs[k]);
    load(dy + begin + i, scaled.packs[k]);
    load(gain + i, gains);
    for (int j = 0; j < N; ++j) {
      centred.packs[k][j] -= mean;
      scaled.packs[k][j] *= gains[j];
    }
  };
  float sum = 0, product = 0;
  for_packs<N, Packs>(shape.width, [&](int k, int i) {
    load_packs(k, i);
    for (int j = 0; j < N; ++j) {
      sum += scaled.packs[k][j];
      product += scaled.packs[k][j] * centred.packs[k][j];
    }
  });
  const auto width = static_cast<float>(shape.width);
  const float offset = warp_sum(sum) / width;
  const float slope = warp_sum(product) * inverse * inverse / width;
  for_packs<N, Packs>(shape.width, [&](int k, int i) {
    float values[N] = {};
    if constexpr (Packs == 0) load_packs(k, i);
    if (skip) load(skip + begin + i, values);
    for (int j = 0; j < N; ++j)
      values[j] += inverse * (scaled.packs[k][j] - offset - slope * centred.packs[k][j]);
    store(values, dx + begin + i);
  });
}

/// Calls body<Packs>() with the packs that hold a row of `width`, or 0. Rows that take no whole
/// packs, N = 1, are not kept.
template <int N, class Body>
Result<void> dispatch_packs(int width, const Body& body) {
  if constexpr (N > 1) {
    if (width <= 768) return body.template operator()<packs_of_lane(N, 768)>();
    if (width <= 1024) return body.template operator()<packs_of_lane(N, 1024)>();
    if (width <= 1280) return body.template operator()<packs_of_lane(N, 1280)>();
    if (width <= 1600) return body.template operator()<packs_of_lane(N, 1600)>();
  }
  return body.template operator()<0>();
}

/// Source for the gradients of gain and bias, which are sums over the rows.
template <class T>
struct LayerNormColumns {
  static constexpr int kTerms = 2;
  const T* x = nullptr;
  const T* dy = nullptr;
  const float* statistics = nullptr;
  std::size_t width = 0;

  template <int N>
  __device__ void add(int row, int column, float (&sums)[2][N]) const {
    float values[N], gradient[N];
    load(x + row * width + column, values);
    load(dy + row * width + column, gradient);
    const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    for (int j = 0; j < N; ++j) {
      sums[0][j] += gradient[j] * (values[j] - mean) * inverse;
      sums[1][j] += gradient[j];
    }
  }
};

}  // namespace

Result<void> layer_norm_forward(const LayerNormShape& shape, ElementType type, const void* x,
                                const float* gain, const float* bias, void* y, float* statistics,
                                DeviceStream stream) {
  return dispatch(type, shape.width, {x, gain, bias, y}, [&]<class T, int N>() {
    return dispatch_packs<N>(shape.width, [&]<int Packs>() {
      return launch("layer_norm_forward", layer_norm_forward_kernel<T, N, Packs>,
                    rows_grid(shape.rows), stream, shape, static_cast<const T*>(x), gain, bias,
                    static_cast<T*>(y), statistics);
    });
  });
}

Result<void> layer_norm_backward_input(const LayerNormShape& shape, ElementType type, const void* x,
                                       const float* gain, const float* statistics, const void* dy,
                                       const void* skip, void* dx, DeviceStream stream) {
  return dispatch(type, shape.width, {x, gain, dy, skip, dx}, [&]<class T, int N>() {
    return dispatch_packs<N>(shape.width, [&]<int Packs>() {
      return launch("layer_norm_backward_input", layer_norm_backward_input_kernel<T, N, Packs>,
                    rows_grid(shape.rows), stream, shape, static_cast<const T*>(x), gain,
                    statistics, static_cast<const T*>(dy), static_cast<const T*>(skip),
                    static_cast<T*>(dx));
    });
  });
}

std::size_t layer_norm_scratch_floats(const LayerNormShape& shape) {
  return static_cast<std::size_t>(cut_rows(shape.rows).count) * 2 * shape.width;
}

Result<void> layer_norm_backward_weight(const LayerNormShape& shape, ElementType type,
                                        const void* x, const float* statistics, const void* dy,
                                        float* scratch, float* dgain, float* dbias, bool add,
                                        DeviceStream stream) {
  return dispatch(type, shape.width, {x, dy}, [&]<class T, int N>() {
    const LayerNormColumns<T> source{static_cast<const T*>(x), static_cast<const T*>(dy),
                                     statistics, static_cast<std::size_t>(shape.width)};
    const SumsOfChunks result{.first = dgain, .second = dbias, .split = shape.width, .add = add};
    return sum_columns<N>("layer_norm_backward_weight", source, shape.rows, shape.width, scratch,
                          result, stream);
  });
}

}  // namespace hocket::kernels
