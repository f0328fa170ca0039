// The causal softmax of attention: one warp per row, which it reads three times, from the cache
// after the first.

#include <cmath>

#include "examples/gpt2/cuda/device_values.h"
#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {
namespace {

template <class T, int N>
__global__ void softmax_causal_forward_kernel(std::size_t rows, int sequence, T* weights) {
  const std::size_t number = row_of_warp();
  if (number >= rows) return;
  T* row = weights + number * sequence;
  const int count = static_cast<int>(number % sequence) + 1;

  float largest = -INFINITY;
  for_row<N>(count, [&](int i) {
    float values[N];
    load(row + i, values);
    for (int j = 0; j < N; ++j) {
      if (i + j < count) largest = fmaxf(largest, values[j]);
    }
  });
  largest = warp_max(largest);
  float sum = 0;
  for_row<N>(count, [&](int i) {
    float values[N];
    load(row + i, values);
    for (int j = 0; j < N; ++j) {
      if (i + j < count) sum += expf(values[j] - largest);
    }
  });
  const float scale = 1.0f / warp_sum(sum);
  for_row<N>(sequence, [&](int i) {
    float values[N] = {};
    if (i < count) load(row + i, values);
    for (int j = 0; j < N; ++j) {
      values[j] = i + j < count ? expf(values[j] - largest) * scale : 0.0f;
    }
    store(values, row + i);
  });
}

template <class T, int N>
__global__ void softmax_causal_backward_kernel(std::size_t rows, int sequence, const T* weights,
                                               T* gradient) {
  const std::size_t number = row_of_warp();
  if (number >= rows) return;
  const T* row = weights + number * sequence;
  T* drow = gradient + number * sequence;
  const int count = static_cast<int>(number % sequence) + 1;

  float dot = 0;
  for_row<N>(count, [&](int i) {
    float w[N], d[N];
    load(row + i, w);
    load(drow + i, d);
    for (int j = 0; j < N; ++j) {
      if (i + j < count) dot += w[j] * d[j];
    }
  });
  dot = warp_sum(dot);
  for_row<N>(sequence, [&](int i) {
    float w[N] = {}, d[N] = {};
    if (i < count) {
      load(row + i, w);
      load(drow + i, d);
    }
    for (int j = 0; j < N; ++j) d[j] = i + j < count ? w[j] * (d[j] - dot) : 0.0f;
    store(d, drow + i);
  });
}

std::size_t attention_rows(const AttentionShape& shape) {
  return static_cast<std::size_t>(shape.batch) * shape.heads * shape.sequence;
}

}  // namespace

Result<void> softmax_causal_forward(const AttentionShape& shape, ElementType type, void* weights,
                                    DeviceStream stream) {
  const std::size_t rows = attention_rows(shape);
  return dispatch(type, shape.sequence, {weights}, [&]<class T, int N>() {
    return launch("softmax_causal_forward", softmax_causal_forward_kernel<T, N>, rows_grid(rows),
                  stream, rows, shape.sequence, static_cast<T*>(weights));
  });
}

Result<void> softmax_causal_backward(const AttentionShape& shape, ElementType type,
                                     const void* weights, void* gradient, DeviceStream stream) {
  const std::size_t rows = attention_rows(shape);
  return dispatch(type, shape.sequence, {weights, gradient}, [&]<class T, int N>() {
    return launch("softmax_causal_backward", softmax_causal_backward_kernel<T, N>, rows_grid(rows),
                  stream, rows, shape.sequence, static_cast<const T*>(weights),
                  static_cast<T*>(gradient));
  });
}

}  // namespace hocket::kernels
