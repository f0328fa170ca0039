#include "kernels/cuda/product_steps.h"

#include <cmath>

#include "kernels/cuda/device/curves.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

/// Numbers of a step's memory, as kernels take them.
template <class T, class From, class To>
struct FinishedNumbers {
  const From* z;
  const T* bias;
  const T* before;
  const To* residual;
  T* kept;
  To* y;
};

/// A pack lies in one row: N is 1 or divides the columns.
template <class T, class From, class To, int N>
__global__ void finish_kernel(std::size_t count, std::size_t columns, Curve activation,
                              Curve gradient, FinishedNumbers<T, From, To> memory) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float values[M], other[M];
    load(memory.z + i, values);
    if (memory.bias) {
      load(memory.bias + i % columns, other);
      for (int j = 0; j < M; ++j) values[j] += other[j];
    }
    if (memory.kept) store(values, memory.kept + i);
    for (float& each : values) each = curve_value(activation, each);
    if (memory.before) {
      load(memory.before + i, other);
      for (int j = 0; j < M; ++j) values[j] = curve_slope(gradient, other[j], values[j]);
    }
    if (memory.residual) {
      load(memory.residual + i, other);
      for (int j = 0; j < M; ++j) values[j] += other[j];
    }
    store(values, memory.y + i);
  });
}

template <class T, class From, class To>
Result<void> finish(const FinishedProduct& product, DeviceStream stream) {
  const FinishedNumbers<T, From, To> memory{
      static_cast<const From*>(product.z),   static_cast<const T*>(product.bias),
      static_cast<const T*>(product.before), static_cast<const To*>(product.residual),
      static_cast<T*>(product.kept),         static_cast<To*>(product.y)};
  constexpr int kPack = sizeof(T) == 4 ? 4 : 8;
  const auto columns = static_cast<std::size_t>(product.columns);
  const std::size_t count = static_cast<std::size_t>(product.rows) * columns;
  const bool in_packs =
      columns % kPack == 0 && are_aligned({product.z, product.bias, product.before,
                                           product.residual, product.kept, product.y});
  return launch("epilogue of matmul",
                in_packs ? finish_kernel<T, From, To, kPack> : finish_kernel<T, From, To, 1>,
                elements_grid(count, in_packs ? kPack : 1), stream, count, columns,
                product.activation, product.gradient, memory);
}

/// Returns how many columns a row sees: the first ones.
__device__ inline std::int64_t seen_columns(const ScoreRows& scores, std::int64_t row) {
  if (!scores.is_causal) return scores.columns;
  return (scores.first + row) % scores.positions + scores.columns - scores.positions + 1;
}

/// Replaces the floats of a row by what make(i, float i) gives for each, of any type. All lanes
/// together: numbers are read before others are written where they were.
template <class T, class Make>
__device__ void replace_row(float* row, std::int64_t columns, const Make& make) {
  T* const to = reinterpret_cast<T*>(row);
  for (std::int64_t base = 0; base < columns; base += kWarp) {
    const std::int64_t i = base + lane();
    float value = 0;
    if (i < columns) value = make(i, row[i]);
    __syncwarp();
    if (i < columns) assign(value, to[i]);
  }
}

template <class T>
__global__ void share_scores_kernel(ScoreRows scores, float* memory, float* log_sums) {
  const auto number = static_cast<std::int64_t>(row_of_warp());
  if (number >= scores.rows) return;
  float* const row = memory + number * scores.columns;
  const std::int64_t seen = seen_columns(scores, number);
  float largest = -INFINITY;
  for (std::int64_t i = lane(); i < seen; i += kWarp) largest = fmaxf(largest, row[i]);
  largest = warp_max(largest);
  float sum = 0;
  for (std::int64_t i = lane(); i < seen; i += kWarp) sum += expf(row[i] - largest);
  sum = warp_sum(sum);
  const float scale = 1.0f / sum;
  replace_row<T>(row, scores.columns, [=](std::int64_t i, float score) {
    return i < seen ? expf(score - largest) * scale : 0.0f;
  });
  if (lane() == 0) log_sums[number] = logf(sum) + largest;
}

template <class T>
__global__ void share_slopes_kernel(ScoreRows scores, float scale, float* memory, float* slopes,
                                    const T* y, const T* dy, std::int64_t width,
                                    const float* log_sums) {
  const auto number = static_cast<std::int64_t>(row_of_warp());
  if (number >= scores.rows) return;
  float mean = 0;
  for (std::int64_t i = number * width + lane(); i < (number + 1) * width; i += kWarp)
    mean += to_float(y[i]) * to_float(dy[i]);
  mean = warp_sum(mean);
  const float log_sum = log_sums[number];
  const std::int64_t seen = seen_columns(scores, number);
  float* const row = memory + number * scores.columns;
  float* const row_slopes = slopes + number * scores.columns;
  // The slopes first, since the scores are replaced by the shares.
  replace_row<T>(row_slopes, scores.columns, [=](std::int64_t i, float slope) {
    return i < seen ? expf(row[i] - log_sum) * (slope - mean) * scale : 0.0f;
  });
  replace_row<T>(row, scores.columns, [=](std::int64_t i, float score) {
    return i < seen ? expf(score - log_sum) : 0.0f;
  });
}

template <class T>
__global__ void round_kernel(std::size_t count, const float* from, T* to) {
  for_elements<1>(count, [=]<int M>(std::size_t i) { assign(from[i], to[i]); });
}

}  // namespace

Result<void> finish_product(const FinishedProduct& product, DeviceStream stream) {
  const auto is_wide = [](ElementType type) { return type == ElementType::float32; };
  if (is_wide(product.narrow)) return finish<float, float, float>(product, stream);
  if (!is_wide(product.to))
    return finish<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(product, stream);
  return is_wide(product.from) ? finish<__nv_bfloat16, float, float>(product, stream)
                               : finish<__nv_bfloat16, __nv_bfloat16, float>(product, stream);
}

Result<void> share_scores(const ScoreRows& scores, ElementType type, float* memory, float* log_sums,
                          DeviceStream stream) {
  return dispatch_packs(type, false, [&]<class T, int N>() {
    return launch("shares of attention", share_scores_kernel<T>,
                  rows_grid(static_cast<std::size_t>(scores.rows)), stream, scores, memory,
                  log_sums);
  });
}

Result<void> share_slopes(const ScoreRows& scores, ElementType type, float scale, float* memory,
                          float* slopes, const void* y, const void* dy, std::int64_t width,
                          const float* log_sums, DeviceStream stream) {
  return dispatch_packs(type, false, [&]<class T, int N>() {
    return launch("slopes of attention", share_slopes_kernel<T>,
                  rows_grid(static_cast<std::size_t>(scores.rows)), stream, scores, scale, memory,
                  slopes, static_cast<const T*>(y), static_cast<const T*>(dy), width, log_sums);
  });
}

Result<void> round_numbers(std::int64_t count, ElementType type, const float* from, void* to,
                           DeviceStream stream) {
  return dispatch_packs(type, false, [&]<class T, int N>() {
    return launch("rounded sums", round_kernel<T>,
                  elements_grid(static_cast<std::size_t>(count), 1), stream,
                  static_cast<std::size_t>(count), from, static_cast<T*>(to));
  });
}

}  // namespace hocket::kernels
