// Elementwise operations: GELU, the residual connection, the optimiser's update, rounding. All are
// bound by memory bandwidth.

#include <cmath>

#include "core/base/check.h"
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

/// Factors of one update, and the ranges of elements to which they apply.
struct AdamWFactors {
  float beta1, beta2, rate, epsilon, scale;
  float keep[2];  ///< without and with weight decay
  std::size_t ends[kMostAdamWRanges];
  bool decays[kMostAdamWRanges];

  /// Returns the range of element i, which exists.
  __device__ int range_of(std::size_t i) const {
    int range = 0;
    while (i >= ends[range]) ++range;
    return range;
  }
};

AdamWFactors adamw_factors(const AdamW& options, double gradient_scale,
                           std::span<const AdamWRange> ranges) {
  AdamWFactors f = {
      .beta1 = static_cast<float>(options.beta1),
      .beta2 = static_cast<float>(options.beta2),
      .rate = static_cast<float>(options.learning_rate),
      .epsilon = static_cast<float>(options.epsilon),
      .scale = static_cast<float>(gradient_scale),
      .keep = {1.0f, static_cast<float>(1.0 - options.learning_rate * options.weight_decay)},
      .ends = {},
      .decays = {}};
  std::size_t end = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    f.ends[i] = end += ranges[i].size;
    f.decays[i] = ranges[i].decay;
  }
  return f;
}

/// Computes the bias corrections of both moments once for all elements, in double precision, and
/// counts the update.
__global__ void adamw_corrections_kernel(double beta1, double beta2, std::int64_t* updates,
                                         float* corrections) {
  const auto update = static_cast<double>(*updates + 1);
  if (threadIdx.x < 2) {
    const double beta = threadIdx.x == 0 ? beta1 : beta2;
    corrections[threadIdx.x] = static_cast<float>(1.0 / (1.0 - pow(beta, update)));
  }
  __syncthreads();  // all have read the count
  if (threadIdx.x == 0) ++*updates;
}

/// Indexes `f` in the memory of the parameters, where it would be copied to the stack otherwise.
template <int N>
__global__ void adamw_kernel(const __grid_constant__ AdamWFactors f, std::size_t count,
                             const float* gradients, float* parameters, float* first_moment,
                             float* second_moment, __nv_bfloat16* working_copy,
                             const float* corrections) {
  const float correction1 = corrections[0], correction2 = corrections[1];
  for_elements<N>(count, [=, &f]<int M>(std::size_t i) {
    float gradient[M], parameter[M], first[M], second[M];
    load(gradients + i, gradient);
    load(parameters + i, parameter);
    load(first_moment + i, first);
    load(second_moment + i, second);
    int range = f.range_of(i);
    for (int j = 0; j < M; ++j) {
      while (i + j >= f.ends[range]) ++range;
      const float g = gradient[j] * f.scale;
      const float m = f.beta1 * first[j] + (1.0f - f.beta1) * g;
      const float v = f.beta2 * second[j] + (1.0f - f.beta2) * g * g;
      first[j] = m;
      second[j] = v;
      parameter[j] = f.keep[f.decays[range] ? 1 : 0] * parameter[j] -
                     f.rate * (m * correction1) / (sqrtf(v * correction2) + f.epsilon);
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

Result<void> adamw_update(const AdamW& options, std::int64_t* updates, double gradient_scale,
                          std::span<const AdamWRange> ranges, const float* gradients,
                          float* parameters, float* first_moment, float* second_moment,
                          void* working_copy, float* corrections, DeviceStream stream) {
  HOCKET_CHECK(ranges.size() <= kMostAdamWRanges, "more ranges than an update takes");
  std::size_t count = 0;
  for (const AdamWRange& range : ranges) count += range.size;
  const auto counted = launch("corrections of adamw_update", adamw_corrections_kernel,
                              {.x = 1, .y = 1, .threads = kWarp}, stream, options.beta1,
                              options.beta2, updates, corrections);
  if (!counted) return counted;
  const bool whole =
      are_aligned({gradients, parameters, first_moment, second_moment, working_copy});
  return launch("adamw_update", whole ? adamw_kernel<4> : adamw_kernel<1>,
                elements_grid(count, whole ? 4 : 1), stream,
                adamw_factors(options, gradient_scale, ranges), count, gradients, parameters,
                first_moment, second_moment, static_cast<__nv_bfloat16*>(working_copy),
                corrections);
}

Result<void> convert(std::size_t count, const float* from, void* to, DeviceStream stream) {
  const bool whole = are_aligned({from, to});
  return launch("convert", whole ? convert_kernel<8> : convert_kernel<1>,
                elements_grid(count, whole ? 8 : 1), stream, count, from,
                static_cast<__nv_bfloat16*>(to));
}

}  // namespace hocket::kernels
