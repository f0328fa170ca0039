#pragma once

// Sums and maxima of rows, as loops that a compiler vectorises. Private to kernels/host. Pure.

#include <cstdint>
#include <limits>

namespace hocket {

/// Numbers that are added up as float32 numbers, whose sum has few roundings then. The sums of such
/// blocks are added up in double precision.
inline constexpr std::int64_t kSumBlock = 256;

/// Returns the sum of numbers.
[[gnu::always_inline]] inline float row_sum(const float* x, std::int64_t count) {
  double total = 0;
  for (std::int64_t begin = 0; begin < count; begin += kSumBlock) {
    const float* const from = x + begin;
    const std::int64_t numbers = count - begin < kSumBlock ? count - begin : kSumBlock;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < numbers; ++i) sum += from[i];
    total += static_cast<double>(sum);
  }
  return static_cast<float>(total);
}

/// Returns the largest number. Of those that are none the result is one.
[[gnu::always_inline]] inline float row_maximum(const float* x, std::int64_t count) {
  float most = -std::numeric_limits<float>::infinity();
  std::int32_t others = 0;
#pragma omp simd reduction(max : most) reduction(| : others)
  for (std::int64_t i = 0; i < count; ++i) {
    const float each = x[i];
    most = each > most ? each : most;
    others |= each != each ? 1 : 0;
  }
  return others == 0 ? most : std::numeric_limits<float>::quiet_NaN();
}

/// The same for a sum of exponentials: 0 for a row of negative infinities, which then has a sum of
/// 0, whose logarithm is negative infinity again.
[[gnu::always_inline]] inline float finite_maximum(const float* x, std::int64_t count) {
  const float most = row_maximum(x, count);
  return most == -std::numeric_limits<float>::infinity() ? 0.0f : most;
}

}  // namespace hocket
