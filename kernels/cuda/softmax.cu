// Softmax of rows: one warp per row, which it reads three times, from the cache after the first.

#include <cmath>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

template <class T, int N>
__global__ void softmax_kernel(std::size_t rows, int width, const T* x, T* y) {
  const std::size_t number = row_of_warp();
  if (number >= rows) return;
  const T* const in = x + number * width;
  T* const out = y + number * width;
  float largest = -INFINITY;
  for_row<N>(width, [&](int i) {
    float values[N];
    load(in + i, values);
    for (const float each : values) largest = fmaxf(largest, each);
  });
  largest = warp_max(largest);
  float sum = 0;
  for_row<N>(width, [&](int i) {
    float values[N];
    load(in + i, values);
    for (const float each : values) sum += expf(each - largest);
  });
  const float scale = 1.0f / warp_sum(sum);
  for_row<N>(width, [&](int i) {
    float values[N];
    load(in + i, values);
    for (float& each : values) each = expf(each - largest) * scale;
    store(values, out + i);
  });
}

template <class T, int N>
__global__ void softmax_gradient_kernel(std::size_t rows, int width, const T* y, const T* dy,
                                        T* dx) {
  const std::size_t number = row_of_warp();
  if (number >= rows) return;
  const std::size_t begin = number * width;
  float product = 0;
  for_row<N>(width, [&](int i) {
    float shares[N], slopes[N];
    load(y + begin + i, shares);
    load(dy + begin + i, slopes);
    for (int j = 0; j < N; ++j) product += shares[j] * slopes[j];
  });
  product = warp_sum(product);
  for_row<N>(width, [&](int i) {
    float shares[N], slopes[N];
    load(y + begin + i, shares);
    load(dy + begin + i, slopes);
    for (int j = 0; j < N; ++j) slopes[j] = shares[j] * (slopes[j] - product);
    store(slopes, dx + begin + i);
  });
}

}  // namespace

MadeKernel make_softmax(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  HOCKET_TRY(check_sizes({rows.count, rows.width}));
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({.in_place = {{0, 0}}}, [=](const KernelCall& call, const DeviceTask& task) {
    const auto count = static_cast<std::size_t>(rows.count);
    const auto buffers = {call.operands[0], static_cast<const void*>(call.results[0])};
    return dispatch(type, static_cast<std::size_t>(rows.width), buffers, [&]<class T, int N>() {
      return launch("softmax", softmax_kernel<T, N>, rows_grid(count), task.stream, count,
                    static_cast<int>(rows.width), operand_of<T>(call, 0), result_of<T>(call));
    });
  });
}

MadeKernel make_softmax_gradient(const KernelSignature& signature) {
  const ValueRows rows(signature.operands[0]);
  HOCKET_TRY(check_sizes({rows.count, rows.width}));
  const ElementType type = element_type(signature.results[0].numbers);
  KernelPlan plan{.in_place = {{0, 0}, {0, 1}}};
  return cuda_kernel(std::move(plan), [=](const KernelCall& call, const DeviceTask& task) {
    const auto count = static_cast<std::size_t>(rows.count);
    const auto buffers = {call.operands[0], call.operands[1],
                          static_cast<const void*>(call.results[0])};
    return dispatch(type, static_cast<std::size_t>(rows.width), buffers, [&]<class T, int N>() {
      return launch("softmax_gradient", softmax_gradient_kernel<T, N>, rows_grid(count),
                    task.stream, count, static_cast<int>(rows.width), operand_of<T>(call, 0),
                    operand_of<T>(call, 1), result_of<T>(call));
    });
  });
}

}  // namespace hocket::kernels
