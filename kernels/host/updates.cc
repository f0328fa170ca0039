// Steps of optimisers, in one pass over their memory. The units are the numbers.

#include <cmath>

#include "kernels/host/host_kernel.h"
#include "kernels/host/vectors.h"

namespace hocket {
namespace {

struct AdamWSettings {
  double beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0, gradient_scale = 1;
};

struct AdamWFactors {
  AdamWFactors(const AdamWSettings& settings, double rate, double step)
      : beta1(static_cast<float>(settings.beta1)),
        beta2(static_cast<float>(settings.beta2)),
        correction1(static_cast<float>(1.0 / (1.0 - std::pow(settings.beta1, step)))),
        correction2(static_cast<float>(1.0 / (1.0 - std::pow(settings.beta2, step)))),
        rate(static_cast<float>(rate)),
        epsilon(static_cast<float>(settings.epsilon)),
        keep(static_cast<float>(1.0 - rate * settings.weight_decay)),
        gradient_scale(static_cast<float>(settings.gradient_scale)) {}

  float beta1, beta2, correction1, correction2, rate, epsilon, keep, gradient_scale;
};

/// Memory of an update; what is written may be what is read.
struct AdamWPointers {
  const float *parameter, *gradient, *first, *second;
  float *new_parameter, *new_first, *new_second;
};

struct AdamWLoop {
  [[gnu::always_inline]] static inline void run(AdamWFactors factors, AdamWPointers pointers,
                                                UnitRange range) {
    // Local copies, so that stores through the pointers cannot change them.
    const AdamWFactors f = factors;
    const AdamWPointers p = pointers;
#pragma omp simd
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const float g = f.gradient_scale * p.gradient[i];
      const float m = f.beta1 * p.first[i] + (1.0f - f.beta1) * g;
      const float v = f.beta2 * p.second[i] + (1.0f - f.beta2) * g * g;
      p.new_first[i] = m;
      p.new_second[i] = v;
      p.new_parameter[i] = f.keep * p.parameter[i] - f.rate * (m * f.correction1) /
                                                         (std::sqrt(v * f.correction2) + f.epsilon);
    }
  }
};

struct SgdLoop {
  [[gnu::always_inline]] static inline void run(float momentum, float weight_decay,
                                                float gradient_scale, float rate,
                                                const float* parameter, const float* gradient,
                                                const float* velocity, float* new_parameter,
                                                float* new_velocity, UnitRange range) {
#pragma omp simd
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const float v =
          momentum * velocity[i] + gradient_scale * gradient[i] + weight_decay * parameter[i];
      new_velocity[i] = v;
      new_parameter[i] = parameter[i] - rate * v;
    }
  }
};

}  // namespace

MadeKernel make_adamw(const KernelSignature& signature) {
  const Attributes& attributes = signature.attributes;
  const AdamWSettings settings{.beta1 = attributes.number("beta1"),
                               .beta2 = attributes.number("beta2"),
                               .epsilon = attributes.number("epsilon"),
                               .weight_decay = attributes.number("weight_decay"),
                               .gradient_scale = attributes.number("gradient_scale")};
  return host_kernel(
      {.units = signature.results[0].count(),
       .unit_bytes = std::vector<UnitBytes>(3, {.each = sizeof(float)}),
       .in_place = {{0, 0}, {1, 2}, {2, 3}}},
      [settings](const KernelCall& call, UnitRange range) -> Result<void> {
        const std::int32_t step = *operand_of<std::int32_t>(call, 5);
        if (step < 1) {
          return failure(ErrorCode::invalid_argument,
                         "step: expected 1 or more, found " + std::to_string(step));
        }
        const AdamWFactors factors(settings, static_cast<double>(*operand_of(call, 4)), step);
        const AdamWPointers pointers{operand_of(call, 0), operand_of(call, 1), operand_of(call, 2),
                                     operand_of(call, 3), result_of(call, 0),  result_of(call, 1),
                                     result_of(call, 2)};
        run_loop<AdamWLoop>(factors, pointers, range);
        return {};
      });
}

MadeKernel make_sgd(const KernelSignature& signature) {
  const auto momentum = static_cast<float>(signature.attributes.number("momentum"));
  const auto weight_decay = static_cast<float>(signature.attributes.number("weight_decay"));
  const auto gradient_scale = static_cast<float>(signature.attributes.number("gradient_scale"));
  return host_kernel({.units = signature.results[0].count(),
                      .unit_bytes = std::vector<UnitBytes>(3, {.each = sizeof(float)}),
                      .in_place = {{0, 0}, {1, 2}}},
                     [=](const KernelCall& call, UnitRange range) {
                       run_loop<SgdLoop>(momentum, weight_decay, gradient_scale,
                                         *operand_of(call, 3), operand_of(call, 0),
                                         operand_of(call, 1), operand_of(call, 2),
                                         result_of(call, 0), result_of(call, 1), range);
                     });
}

}  // namespace hocket
