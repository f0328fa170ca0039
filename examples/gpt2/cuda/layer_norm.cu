// Layer normalisation: one warp per row, which it reads two or three times, from the cache after
// the first.

#include <cmath>

#include "examples/gpt2/cuda/column_sums.h"
#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {
namespace {

constexpr float kLayerNormEpsilon = 1e-5f;

template <class T, int N>
__global__ void layer_norm_forward_kernel(LayerNormShape shape, const T* x, const float* gain,
                                          const float* bias, T* y, float* statistics) {
  const std::size_t row = row_of_warp();
  if (row >= static_cast<std::size_t>(shape.rows)) return;
  const T* in = x + row * shape.width;
  T* out = y + row * shape.width;
  float sum = 0, squares = 0;
  for_row<N>(shape.width, [&](int i) {
    float values[N];
    load(in + i, values);
    for (const float v : values) sum += v;
  });
  const float mean = warp_sum(sum) / static_cast<float>(shape.width);
  for_row<N>(shape.width, [&](int i) {
    float values[N];
    load(in + i, values);
    for (const float v : values) squares += (v - mean) * (v - mean);
  });
  const float variance = warp_sum(squares) / static_cast<float>(shape.width);
  const float inverse = 1.0f / sqrtf(variance + kLayerNormEpsilon);
  for_row<N>(shape.width, [&](int i) {
    float values[N], gains[N], biases[N];
    load(in + i, values);
    load(gain + i, gains);
    load(bias + i, biases);
    for (int j = 0; j < N; ++j) values[j] = (values[j] - mean) * inverse * gains[j] + biases[j];
    store(values, out + i);
  });
  if (lane() == 0) {
    statistics[2 * row] = mean;
    statistics[2 * row + 1] = inverse;
  }
}

template <class T, int N>
__global__ void layer_norm_backward_input_kernel(LayerNormShape shape, const T* x,
                                                 const float* gain, const float* statistics,
                                                 const T* dy, const T* skip, T* dx) {
  const std::size_t row = row_of_warp();
  if (row >= static_cast<std::size_t>(shape.rows)) return;
  const std::size_t begin = row * shape.width;
  const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
  const auto load_pack = [&](int i, float(&centred)[N], float(&scaled)[N]) {
    float gains[N];
    load(x + begin + i, centred);
    load(dy + begin + i, scaled);
    load(gain + i, gains);
    for (int j = 0; j < N; ++j) {
      centred[j] -= mean;
      scaled[j] *= gains[j];
    }
  };
  float sum = 0, product = 0;
  for_row<N>(shape.width, [&](int i) {
    float centred[N], scaled[N];
    load_pack(i, centred, scaled);
    for (int j = 0; j < N; ++j) {
      sum += scaled[j];
      product += scaled[j] * centred[j];
    }
  });
  const auto width = static_cast<float>(shape.width);
  const float offset = warp_sum(sum) / width;
  const float slope = warp_sum(product) * inverse * inverse / width;
  for_row<N>(shape.width, [&](int i) {
    float centred[N], scaled[N], added[N] = {};
    load_pack(i, centred, scaled);
    if (skip) load(skip + begin + i, added);
    for (int j = 0; j < N; ++j) {
      scaled[j] = inverse * (scaled[j] - offset - slope * centred[j]) + added[j];
    }
    store(scaled, dx + begin + i);
  });
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
    return launch("layer_norm_forward", layer_norm_forward_kernel<T, N>, rows_grid(shape.rows),
                  stream, shape, static_cast<const T*>(x), gain, bias, static_cast<T*>(y),
                  statistics);
  });
}

Result<void> layer_norm_backward_input(const LayerNormShape& shape, ElementType type, const void* x,
                                       const float* gain, const float* statistics, const void* dy,
                                       const void* skip, void* dx, DeviceStream stream) {
  return dispatch(type, shape.width, {x, gain, dy, skip, dx}, [&]<class T, int N>() {
    return launch("layer_norm_backward_input", layer_norm_backward_input_kernel<T, N>,
                  rows_grid(shape.rows), stream, shape, static_cast<const T*>(x), gain, statistics,
                  static_cast<const T*>(dy), static_cast<const T*>(skip), static_cast<T*>(dx));
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
