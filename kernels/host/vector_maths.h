#pragma once

// Functions of float32 numbers that a compiler vectorises, unlike those of the C library. Private
// to kernels/host. Pure; any thread. What is not a number stays so.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace hocket {

/// Returns x, or the limit beyond which it is. Numbers that are none pass.
[[gnu::always_inline]] inline float clamped(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

/// e^x = polynomial · 2^power, by range reduction and polynomial as in Cephes' expf (Moshier,
/// Methods and Programs for Mathematical Functions, 1989): a relative error of about 1e-7.
struct Exponential {
  float polynomial;
  std::int32_t power;
};

/// Requires |x| ≤ 150.
[[gnu::always_inline]] inline Exponential exponential_parts(float x) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  // Adding 1.5·2^23 leaves the nearest integer in the low bits of the mantissa.
  constexpr float kRounder = 12582912.0f;
  const float shifted = x * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {p * r * r + r + 1.0f,
          static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) - 0x4b400000u)};
}

/// Returns 2^power for −126 to 127.
[[gnu::always_inline]] inline float power_of_two(std::int32_t power) {
  return std::bit_cast<float>((static_cast<std::uint32_t>(power) << 23) + 0x3f800000u);
}

/// Returns e^x for each x. Twice as slow as small_exponential().
[[gnu::always_inline]] inline float exponential_of(float x) {
  const Exponential e = exponential_parts(clamped(x, -104.0f, 89.0f));
  // In two steps, since neither what is infinite nor what is nearly 0 is a power of two.
  const std::int32_t half = e.power >> 1;
  return e.polynomial * power_of_two(half) * power_of_two(e.power - half);
}

/// Returns e^x, but 0 below −60, whose products would be denormal, which is very slow, and e^88
/// above 88. For exponentials that are divided by their sum, of which the largest is 1.
[[gnu::always_inline]] inline float small_exponential(float x) {
  constexpr float kLeast = -60.0f;
  const Exponential e = exponential_parts(clamped(x, kLeast, 88.0f));
  const float y = e.polynomial * power_of_two(e.power);
  return x < kLeast ? 0.0f : y;
}

/// Returns 1 / (1 + e^−x).
[[gnu::always_inline]] inline float sigmoid_of(float x) {
  constexpr float kLeast = -87.0f;
  const Exponential e = exponential_parts(-clamped(x, kLeast, 87.0f));
  const float y = 1.0f / (1.0f + e.polynomial * power_of_two(e.power));
  return x < kLeast ? 0.0f : y;
}

/// As Cephes' tanhf: a polynomial near 0, where the other form would cancel.
[[gnu::always_inline]] inline float tanh_of(float x) {
  const float size = std::abs(x), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  const Exponential e = exponential_parts(clamped(2 * size, 0.0f, 60.0f));
  const float far = 1.0f - 2.0f / (e.polynomial * power_of_two(e.power) + 1.0f);
  const float signed_far = x < 0 ? -far : far;
  return size < 0.625f ? near : signed_far;
}

// √(2/π) and the cubic coefficient of GELU's tanh form. 0.5·(1 + tanh(u)) is computed as the
// logistic function of 2u, which is equal.
inline constexpr float kGeluScaleOfTwo = 2 * 0.7978845608f, kGeluCubic = 0.044715f;

[[gnu::always_inline]] inline float gelu_of(float x) {
  return x * sigmoid_of(kGeluScaleOfTwo * (x + kGeluCubic * x * x * x));
}
[[gnu::always_inline]] inline float gelu_slope_of(float x) {
  const float s = sigmoid_of(kGeluScaleOfTwo * (x + kGeluCubic * x * x * x));
  const float inner = kGeluScaleOfTwo * (1.0f + 3 * kGeluCubic * x * x);
  return s + x * s * (1.0f - s) * inner;
}
[[gnu::always_inline]] inline float silu_of(float x) {
  return x * sigmoid_of(x);
}
[[gnu::always_inline]] inline float silu_slope_of(float x) {
  const float s = sigmoid_of(x);
  return s * (1.0f + x * (1.0f - s));
}
[[gnu::always_inline]] inline float relu_of(float x) {
  return x <= 0 ? 0.0f : x;
}

}  // namespace hocket
