// The loss: one block per row. It reads the row twice: once for the maximum and the sum together
// (Milakov, Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867, algorithm
// 3), then for the gradient, which replaces it. Exponentials are powers of two of the values times
// log2(e), which the device computes in fewer instructions: largest·log2(e) is rounded once for the
// whole row, which cancels out in the gradient and adds at most 2^-24·|largest| to the loss.

#include <cmath>

#include "examples/gpt2/cuda/device_values.h"
#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {
namespace {

constexpr int kLossThreads = 512;
constexpr float kLog2E = 1.44269504f;

/// The maximum of some values, and the sum of power() of all.
struct Normalizer {
  float largest = -INFINITY, sum = 0;

  /// Returns e^(value − largest).
  __device__ float power(float value) const {
    return exp2f(fmaf(value, kLog2E, -largest * kLog2E));
  }
  /// Raises the maximum.
  __device__ void raise(float to) {
    if (to <= largest) return;
    sum *= exp2f((largest - to) * kLog2E);
    largest = to;
  }
};

/// Returns the normalizer of a row of `count` values to all threads of the block.
template <class T, int N>
__device__ Normalizer normalizer_of_row(const T* row, int count) {
  __shared__ float per_warp[kLossThreads / kWarp];
  Normalizer mine;
  for (int i = static_cast<int>(threadIdx.x) * N; i < count; i += kLossThreads * N) {
    float values[N];
    load(row + i, values);
    float largest = mine.largest;
    for (int j = 0; j < N; ++j) {
      if (i + j < count) largest = fmaxf(largest, values[j]);
    }
    mine.raise(largest);
    for (int j = 0; j < N; ++j) {
      if (i + j < count) mine.sum += mine.power(values[j]);
    }
  }
  mine.raise(block_max(mine.largest, per_warp));
  mine.sum = block_sum(mine.sum, per_warp);
  return mine;
}

template <class T, int N>
__global__ void cross_entropy_kernel(CrossEntropyShape shape, T* logits,
                                     const std::int32_t* targets, float* row_losses) {
  T* row = logits + static_cast<std::size_t>(blockIdx.x) * shape.columns;
  const int target = targets[blockIdx.x];
  // Read before any thread writes.
  const float of_target = threadIdx.x == 0 ? to_float(row[target]) : 0.0f;
  const Normalizer all = normalizer_of_row<T, N>(row, shape.vocabulary);
  if (threadIdx.x == 0) row_losses[blockIdx.x] = logf(all.sum) + all.largest - of_target;

  const float one = 1.0f / static_cast<float>(shape.rows);
  const float scale = one / all.sum;
  for (int i = static_cast<int>(threadIdx.x) * N; i < shape.columns; i += kLossThreads * N) {
    float values[N];
    load(row + i, values);
    for (int j = 0; j < N; ++j) {
      const int column = i + j;
      const float share = column < shape.vocabulary ? all.power(values[j]) * scale : 0.0f;
      values[j] = column == target ? share - one : share;
    }
    store(values, row + i);
  }
}

/// Computes the mean in one block.
__global__ void mean_kernel(int count, const float* values, LossesOfSteps losses) {
  __shared__ double per_warp[kLossThreads / kWarp];
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kLossThreads) sum += values[i];
  sum = block_sum(sum, per_warp);
  if (threadIdx.x != 0) return;
  losses.first[static_cast<std::size_t>(*losses.steps) * losses.stride] =
      static_cast<float>(sum / count);
  ++*losses.steps;
}

}  // namespace

Result<void> cross_entropy(const CrossEntropyShape& shape, ElementType type, void* logits,
                           const std::int32_t* targets, float* row_losses,
                           const LossesOfSteps& losses, DeviceStream stream) {
  CrossEntropyShape dense = shape;
  if (dense.columns == 0) dense.columns = dense.vocabulary;
  const auto launched = dispatch(type, dense.columns, {logits}, [&]<class T, int N>() {
    const LaunchGrid grid{.x = static_cast<unsigned>(dense.rows), .y = 1, .threads = kLossThreads};
    return launch("cross_entropy", cross_entropy_kernel<T, N>, grid, stream, dense,
                  static_cast<T*>(logits), targets, row_losses);
  });
  if (!launched) return launched;
  return launch("mean of the losses", mean_kernel, {.x = 1, .y = 1, .threads = kLossThreads},
                stream, dense.rows, row_losses, losses);
}

}  // namespace hocket::kernels
