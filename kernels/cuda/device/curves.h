#pragma once

// The functions of activations and their slopes. Device code.

#include <cmath>

#include "kernels/cuda/curve.h"
#include "kernels/cuda/device/launch.h"

namespace hocket::kernels {

// √(2/π) and the cubic coefficient of GELU's tanh form. 0.5·(1 + tanh(u)) is computed as the
// logistic function of 2u, which is equal.
constexpr float kGeluScale = 0.7978845608f, kGeluCubic = 0.044715f;

__device__ inline float logistic(float x) {
  return 1.0f / (1.0f + expf(-x));
}
__device__ inline float gelu_logistic(float x) {
  return logistic(2 * kGeluScale * (x + kGeluCubic * x * x * x));
}

struct ReluCurve {
  static __device__ float value(float x) { return x <= 0 ? 0.0f : x; }
  static __device__ float slope(float x, float dy) { return x <= 0 ? 0.0f : dy; }
};
struct GeluCurve {
  static __device__ float value(float x) { return x * gelu_logistic(x); }
  static __device__ float slope(float x, float dy) {
    const float s = gelu_logistic(x), bend = x * s * (1.0f - s);
    // A bend of 0 is left out: times an infinite factor it would be NaN.
    const float inner = 2 * kGeluScale * (1.0f + 3 * kGeluCubic * x * x);
    return (bend == 0 ? s : s + bend * inner) * dy;
  }
};
struct SiluCurve {
  static __device__ float value(float x) { return x * logistic(x); }
  static __device__ float slope(float x, float dy) {
    const float s = logistic(x);
    return s * (1.0f + x * (1.0f - s)) * dy;
  }
};

__device__ inline float curve_value(Curve curve, float x) {
  if (curve == Curve::relu) return ReluCurve::value(x);
  if (curve == Curve::gelu) return GeluCurve::value(x);
  return curve == Curve::silu ? SiluCurve::value(x) : x;
}
__device__ inline float curve_slope(Curve curve, float x, float dy) {
  if (curve == Curve::relu) return ReluCurve::slope(x, dy);
  if (curve == Curve::gelu) return GeluCurve::slope(x, dy);
  return curve == Curve::silu ? SiluCurve::slope(x, dy) : dy;
}

}  // namespace hocket::kernels
