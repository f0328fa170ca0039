// Steps of optimisers, in one pass over their memory. The rate and the number of the step are on
// the device: what follows from them is made once, before.

#include <cmath>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

struct AdamWSettings {
  double beta1 = 0, beta2 = 0, weight_decay = 0;
  float epsilon = 0, gradient_scale = 1;
};

/// Numbers of one step, in scratch memory.
struct AdamWStep {
  float correction1, correction2, rate, keep;
};

/// In double precision. A step before the first makes all corrections no numbers.
__global__ void adamw_step_kernel(AdamWSettings settings, const float* rate,
                                  const std::int32_t* number, AdamWStep* step) {
  if (threadIdx.x != 0) return;
  const double count = *number >= 1 ? static_cast<double>(*number) : static_cast<double>(NAN);
  step->correction1 = static_cast<float>(1.0 / (1.0 - pow(settings.beta1, count)));
  step->correction2 = static_cast<float>(1.0 / (1.0 - pow(settings.beta2, count)));
  step->rate = *rate;
  step->keep = static_cast<float>(1.0 - static_cast<double>(*rate) * settings.weight_decay);
}

/// Results may be written over operands.
struct AdamWMemory {
  const float *parameter, *gradient, *first, *second;
  float *new_parameter, *new_first, *new_second;
};

template <int N>
__global__ void adamw_kernel(std::size_t count, AdamWSettings settings, const AdamWStep* of_step,
                             AdamWMemory memory) {
  const AdamWStep step = *of_step;
  const auto beta1 = static_cast<float>(settings.beta1), beta2 = static_cast<float>(settings.beta2);
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float parameter[M], gradient[M], first[M], second[M];
    load(memory.parameter + i, parameter);
    load(memory.gradient + i, gradient);
    load(memory.first + i, first);
    load(memory.second + i, second);
    for (int j = 0; j < M; ++j) {
      const float g = settings.gradient_scale * gradient[j];
      const float m = beta1 * first[j] + (1.0f - beta1) * g;
      const float v = beta2 * second[j] + (1.0f - beta2) * g * g;
      first[j] = m;
      second[j] = v;
      parameter[j] =
          step.keep * parameter[j] -
          step.rate * (m * step.correction1) / (sqrtf(v * step.correction2) + settings.epsilon);
    }
    store(parameter, memory.new_parameter + i);
    store(first, memory.new_first + i);
    store(second, memory.new_second + i);
  });
}

struct SgdSettings {
  float momentum = 0, weight_decay = 0, gradient_scale = 1;
};

template <int N>
__global__ void sgd_kernel(std::size_t count, SgdSettings settings, const float* rate,
                           const float* parameters, const float* gradients, const float* velocities,
                           float* new_parameters, float* new_velocities) {
  const float step = *rate;
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    float parameter[M], gradient[M], velocity[M];
    load(parameters + i, parameter);
    load(gradients + i, gradient);
    load(velocities + i, velocity);
    for (int j = 0; j < M; ++j) {
      velocity[j] = settings.momentum * velocity[j] + settings.gradient_scale * gradient[j] +
                    settings.weight_decay * parameter[j];
      parameter[j] -= step * velocity[j];
    }
    store(velocity, new_velocities + i);
    store(parameter, new_parameters + i);
  });
}

}  // namespace

MadeKernel make_adamw(const KernelSignature& signature) {
  const Attributes& attributes = signature.attributes;
  const AdamWSettings settings{
      .beta1 = attributes.number("beta1"),
      .beta2 = attributes.number("beta2"),
      .weight_decay = attributes.number("weight_decay"),
      .epsilon = static_cast<float>(attributes.number("epsilon")),
      .gradient_scale = static_cast<float>(attributes.number("gradient_scale"))};
  const auto count = static_cast<std::size_t>(signature.results[0].count());
  KernelPlan plan{.scratch_bytes = sizeof(AdamWStep), .in_place = {{0, 0}, {1, 2}, {2, 3}}};
  return cuda_kernel(
      std::move(plan), [=](const KernelCall& call, const DeviceTask& task) -> Result<void> {
        auto* const step = scratch_of<AdamWStep>(call);
        HOCKET_TRY(launch("step of adamw", adamw_step_kernel, {1, 1, kWarp}, task.stream, settings,
                          operand_of(call, 4), operand_of<std::int32_t>(call, 5), step));
        const AdamWMemory memory{operand_of(call, 0), operand_of(call, 1), operand_of(call, 2),
                                 operand_of(call, 3), result_of(call, 0),  result_of(call, 1),
                                 result_of(call, 2)};
        const bool in_packs =
            are_aligned({memory.parameter, memory.gradient, memory.first, memory.second,
                         memory.new_parameter, memory.new_first, memory.new_second});
        return launch("adamw", in_packs ? adamw_kernel<4> : adamw_kernel<1>,
                      elements_grid(count, in_packs ? 4 : 1), task.stream, count, settings, step,
                      memory);
      });
}

MadeKernel make_sgd(const KernelSignature& signature) {
  const SgdSettings settings{static_cast<float>(signature.attributes.number("momentum")),
                             static_cast<float>(signature.attributes.number("weight_decay")),
                             static_cast<float>(signature.attributes.number("gradient_scale"))};
  const auto count = static_cast<std::size_t>(signature.results[0].count());
  return cuda_kernel(
      {.in_place = {{0, 0}, {1, 2}}}, [=](const KernelCall& call, const DeviceTask& task) {
        const bool in_packs = are_aligned({call.operands[0], call.operands[1], call.operands[2],
                                           call.results[0], call.results[1]});
        return launch("sgd", in_packs ? sgd_kernel<4> : sgd_kernel<1>,
                      elements_grid(count, in_packs ? 4 : 1), task.stream, count, settings,
                      operand_of(call, 3), operand_of(call, 0), operand_of(call, 1),
                      operand_of(call, 2), result_of(call, 0), result_of(call, 1));
      });
}

}  // namespace hocket::kernels
