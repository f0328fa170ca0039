// The loss of rows of logits: one block per row, which reads it once for the maximum and the sum
// together (Milakov, Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867,
// algorithm 3).

#include <cfloat>
#include <cmath>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

constexpr int kMostLossThreads = 512;

/// Returns the threads of a block for a row: whole warps, as far as there are numbers.
unsigned loss_threads(std::int64_t width) {
  const std::int64_t warps = (width + 8 * kWarp - 1) / (8 * kWarp);
  return static_cast<unsigned>(std::min<std::int64_t>(warps * kWarp, kMostLossThreads));
}

/// The maximum of some values, which is finite, and the sum of their exponentials divided by its
/// own.
struct Normalizer {
  float largest = -FLT_MAX, sum = 0;

  __device__ void raise(float to) {
    if (to <= largest) return;
    sum *= expf(largest - to);
    largest = to;
  }
};

template <class T, int N>
__global__ void cross_entropy_kernel(int width, const T* logits, const std::int32_t* targets,
                                     float* losses, float* log_sums) {
  __shared__ float per_warp[kMostLossThreads / kWarp];
  const std::size_t number = blockIdx.x;
  const T* const row = logits + number * width;
  const int threads = static_cast<int>(blockDim.x);
  Normalizer mine;
  for (int i = static_cast<int>(threadIdx.x) * N; i < width; i += threads * N) {
    float values[N];
    load(row + i, values);
    float largest = mine.largest;
    for (const float each : values) largest = fmaxf(largest, each);
    mine.raise(largest);
    for (const float each : values) mine.sum += expf(each - mine.largest);
  }
  mine.raise(block_max(mine.largest, per_warp));
  const float sum = block_sum(mine.sum, per_warp);
  if (threadIdx.x != 0) return;
  const std::int32_t target = targets[number];
  const float logarithm = logf(sum);
  // The logarithm of a sum that is near 1 is small beside the logits: they are subtracted first.
  losses[number] = target >= 0 && target < width
                       ? logarithm + (mine.largest - to_float(row[target]))
                       : static_cast<float>(NAN);
  log_sums[number] = logarithm + mine.largest;
}

/// Block y takes a part of row x.
template <class T, int N>
__global__ void cross_entropy_gradient_kernel(int width, const T* logits,
                                              const std::int32_t* targets, const float* log_sums,
                                              const float* dlosses, T* dlogits) {
  const std::size_t number = blockIdx.x;
  const std::int32_t target = targets[number];
  const float log_sum = log_sums[number], slope = dlosses[number];
  const int threads = static_cast<int>(blockDim.x * gridDim.y);
  const int first = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  for (int i = first * N; i < width; i += threads * N) {
    float values[N];
    load(logits + number * width + i, values);
    for (int j = 0; j < N; ++j)
      values[j] = (expf(values[j] - log_sum) - (i + j == target ? 1.0f : 0.0f)) * slope;
    store(values, dlogits + number * width + i);
  }
}

}  // namespace

MadeKernel make_cross_entropy(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  HOCKET_TRY(check_sizes({rows.count, rows.width}));
  const ElementType type = element_type(signature.operands[0].numbers);
  return cuda_kernel({}, [=](const KernelCall& call, const DeviceTask& task) {
    const auto width = static_cast<std::size_t>(rows.width);
    return dispatch(type, width, {call.operands[0]}, [&]<class T, int N>() {
      const LaunchGrid grid{static_cast<unsigned>(rows.count), 1, loss_threads(rows.width)};
      return launch("cross_entropy", cross_entropy_kernel<T, N>, grid, task.stream,
                    static_cast<int>(width), operand_of<T>(call, 0),
                    operand_of<std::int32_t>(call, 1), result_of(call, 0), result_of(call, 1));
    });
  });
}

MadeKernel make_cross_entropy_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  HOCKET_TRY(check_sizes({rows.count, rows.width}));
  const ElementType type = element_type(signature.operands[0].numbers);
  KernelPlan plan{.in_place = {{0, 0}}};
  return cuda_kernel(std::move(plan), [=](const KernelCall& call, const DeviceTask& task) {
    const auto width = static_cast<std::size_t>(rows.width);
    const auto buffers = {call.operands[0], static_cast<const void*>(call.results[0])};
    return dispatch(type, width, buffers, [&]<class T, int N>() {
      const LaunchGrid grid{static_cast<unsigned>(rows.count), 1, loss_threads(rows.width)};
      return launch("cross_entropy_gradient", cross_entropy_gradient_kernel<T, N>, grid,
                    task.stream, static_cast<int>(width), operand_of<T>(call, 0),
                    operand_of<std::int32_t>(call, 1), operand_of(call, 2), operand_of(call, 3),
                    result_of<T>(call));
    });
  });
}

}  // namespace hocket::kernels
