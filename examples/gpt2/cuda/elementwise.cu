// Elementwise operations: GELU, the residual connection, the optimiser's update, rounding. All are
// bound by memory bandwidth.

#include <cmath>

#include "examples/gpt2/cuda/device_values.h"
#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {
namespace {

// √(2/π) and the cubic coefficient of GELU's tanh form. 0.5·(1 + tanh(u)) is computed as the
// logistic function of 2u, which is equal.
constexpr float kGeluScale = 0.7978845608f, kGeluCubic = 0.044715f;

__device__ inline float gelu_logistic(float v) {
  return 1.0f / (1.0f + expf(-2 * kGeluScale * (v + kGeluCubic * v * v * v)));
}

template <class T, int N>
__global__ void gelu_forward_kernel(std::size_t count, const T* x, T* y) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float values[M];
    load(x + i, values);
    for (float& v : values) v *= gelu_logistic(v);
    store(values, y + i);
  });
}

template <class T, int N>
__global__ void gelu_backward_kernel(std::size_t count, const T* x, T* gradient) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float values[M], d[M];
    load(x + i, values);
    load(gradient + i, d);
    for (int j = 0; j < M; ++j) {
      const float v = values[j], s = gelu_logistic(v);
      const float inner = 2 * kGeluScale * (1.0f + 3 * kGeluCubic * v * v);
      d[j] *= s + v * s * (1.0f - s) * inner;
    }
    store(d, gradient + i);
  });
}

template <class T, int N>
__global__ void residual_add_kernel(std::size_t count, const T* x, T* y) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float added[M], values[M];
    load(x + i, added);
    load(y + i, values);
    for (int j = 0; j < M; ++j) values[j] += added[j];
    store(values, y + i);
  });
}

/// Factors of one update.
struct AdamWFactors {
  double beta1, beta2;
  float rate, epsilon, keep, scale;
};

AdamWFactors adamw_factors(const AdamW& options, bool decay, double gradient_scale) {
  const double keep = decay ? 1.0 - options.learning_rate * options.weight_decay : 1.0;
  return {.beta1 = options.beta1,
          .beta2 = options.beta2,
          .rate = static_cast<float>(options.learning_rate),
          .epsilon = static_cast<float>(options.epsilon),
          .keep = static_cast<float>(keep),
          .scale = static_cast<float>(gradient_scale)};
}

template <int N>
__global__ void adamw_kernel(AdamWFactors f, const std::int64_t* updates, std::size_t count,
                             const float* gradients, float* parameters, float* first_moment,
                             float* second_moment, __nv_bfloat16* working_copy) {
  // bias corrections, computed once per block, since double precision is slow
  __shared__ float corrections[2];
  if (threadIdx.x < 2) {
    const double beta = threadIdx.x == 0 ? f.beta1 : f.beta2;
    corrections[threadIdx.x] =
        static_cast<float>(1.0 / (1.0 - pow(beta, static_cast<double>(*updates + 1))));
  }
  __syncthreads();
  const auto beta1 = static_cast<float>(f.beta1), beta2 = static_cast<float>(f.beta2);
  const float correction1 = corrections[0], correction2 = corrections[1];
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float gradient[M], parameter[M], first[M], second[M];
    load(gradients + i, gradient);
    load(parameters + i, parameter);
    load(first_moment + i, first);
    load(second_moment + i, second);
    for (int j = 0; j < M; ++j) {
      const float g = gradient[j] * f.scale;
      const float m = beta1 * first[j] + (1.0f - beta1) * g;
      const float v = beta2 * second[j] + (1.0f - beta2) * g * g;
      first[j] = m;
      second[j] = v;
      parameter[j] =
          f.keep * parameter[j] - f.rate * (m * correction1) / (sqrtf(v * correction2) + f.epsilon);
    }
    store(parameter, parameters + i);
    store(first, first_moment + i);
    store(second, second_moment + i);
    if (working_copy) store(parameter, working_copy + i);
  });
}

template <int N>
__global__ void convert_kernel(std::size_t count, const float* from, __nv_bfloat16* to) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float values[M];
    load(from + i, values);
    store(values, to + i);
  });
}

}  // namespace

Result<void> gelu_forward(std::size_t count, ElementType type, const void* x, void* y,
                          DeviceStream stream) {
  return dispatch(type, 0, {x, y}, [&]<class T, int N>() {
    return launch("gelu_forward", gelu_forward_kernel<T, N>, elements_grid(count, N), stream, count,
                  static_cast<const T*>(x), static_cast<T*>(y));
  });
}

Result<void> gelu_backward(std::size_t count, ElementType type, const void* x, void* gradient,
                           DeviceStream stream) {
  return dispatch(type, 0, {x, gradient}, [&]<class T, int N>() {
    return launch("gelu_backward", gelu_backward_kernel<T, N>, elements_grid(count, N), stream,
                  count, static_cast<const T*>(x), static_cast<T*>(gradient));
  });
}

Result<void> residual_add(std::size_t count, ElementType type, const void* x, void* y,
                          DeviceStream stream) {
  return dispatch(type, 0, {x, y}, [&]<class T, int N>() {
    return launch("residual_add", residual_add_kernel<T, N>, elements_grid(count, N), stream, count,
                  static_cast<const T*>(x), static_cast<T*>(y));
  });
}

Result<void> adamw_update(const AdamW& options, const std::int64_t* updates, bool decay,
                          double gradient_scale, std::size_t count, const float* gradients,
                          float* parameters, float* first_moment, float* second_moment,
                          void* working_copy, DeviceStream stream) {
  const bool whole =
      are_aligned({gradients, parameters, first_moment, second_moment, working_copy});
  return launch("adamw_update", whole ? adamw_kernel<4> : adamw_kernel<1>,
                elements_grid(count, whole ? 4 : 1), stream,
                adamw_factors(options, decay, gradient_scale), updates, count, gradients,
                parameters, first_moment, second_moment, static_cast<__nv_bfloat16*>(working_copy));
}

Result<void> convert(std::size_t count, const float* from, void* to, DeviceStream stream) {
  const bool whole = are_aligned({from, to});
  return launch("convert", whole ? convert_kernel<8> : convert_kernel<1>,
                elements_grid(count, whole ? 8 : 1), stream, count, from,
                static_cast<__nv_bfloat16*>(to));
}

}  // namespace hocket::kernels
