#include "core/collective/optimizer_step.h"

#include <cmath>
#include <cstddef>
#include <string>

#include "core/base/check.h"

namespace hocket {
namespace {

Result<void> in_range(const char* name, double value, double least, double below) {
  if (value >= least && value < below) return {};
  return invalid(std::string("the optimiser's ") + name + " must be at least " +
                 std::to_string(least) + " and less than " + std::to_string(below) + ", found " +
                 std::to_string(value));
}

void apply_sgd(const OptimizerStep& step, std::span<float> values, std::span<float> moment) {
  const auto scale = static_cast<float>(step.gradient_scale),
             rate = static_cast<float>(step.learning_rate),
             momentum = static_cast<float>(step.momentum);
  if (step.momentum == 0) {
    for (float& value : values) value = rate * (value * scale);
    return;
  }
  float* const __restrict to = values.data();
  float* const __restrict first = moment.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    first[i] = momentum * first[i] + to[i] * scale;
    to[i] = rate * first[i];
  }
}

void apply_adamw(const OptimizerStep& step, std::span<float> values, std::span<float> first_moment,
                 std::span<float> second_moment) {
  const auto update = static_cast<double>(step.update);
  const auto scale = static_cast<float>(step.gradient_scale),
             rate = static_cast<float>(step.learning_rate), beta1 = static_cast<float>(step.beta1),
             beta2 = static_cast<float>(step.beta2), epsilon = static_cast<float>(step.epsilon),
             correction1 = static_cast<float>(1 / (1 - std::pow(step.beta1, update))),
             correction2 = static_cast<float>(1 / (1 - std::pow(step.beta2, update)));
  float* const __restrict to = values.data();
  float* const __restrict first = first_moment.data();
  float* const __restrict second = second_moment.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float gradient = to[i] * scale;
    first[i] = beta1 * first[i] + (1.0f - beta1) * gradient;
    second[i] = beta2 * second[i] + (1.0f - beta2) * gradient * gradient;
    to[i] = rate * (first[i] * correction1) / (std::sqrt(second[i] * correction2) + epsilon);
  }
}

}  // namespace

int state_values(const OptimizerStep& step) {
  if (step.kind == OptimizerKind::adamw) return 2;
  return step.momentum == 0 ? 0 : 1;
}

Result<void> validate(const OptimizerStep& step) {
  constexpr double kMost = 1e30;
  if (step.kind != OptimizerKind::sgd && step.kind != OptimizerKind::adamw)
    return invalid("the optimiser is neither SGD nor AdamW");
  if (step.update < 1) return invalid("an optimiser's updates count from 1");
  HOCKET_TRY(in_range("gradient_scale", step.gradient_scale, -kMost, kMost));
  HOCKET_TRY(in_range("learning_rate", step.learning_rate, 0, kMost));
  HOCKET_TRY(in_range("momentum", step.momentum, 0, 1));
  HOCKET_TRY(in_range("beta1", step.beta1, 0, 1));
  HOCKET_TRY(in_range("beta2", step.beta2, 0, 1));
  return in_range("epsilon", step.epsilon, 0, kMost);
}

void apply_optimizer_step(const OptimizerStep& step, std::span<float> values,
                          std::span<float> first_moment, std::span<float> second_moment) {
  const auto size = [&](int moment) { return moment < state_values(step) ? values.size() : 0; };
  HOCKET_CHECK(first_moment.size() == size(0) && second_moment.size() == size(1),
               "as many moments as values");
  if (step.kind == OptimizerKind::sgd) return apply_sgd(step, values, first_moment);
  apply_adamw(step, values, first_moment, second_moment);
}

}  // namespace hocket
