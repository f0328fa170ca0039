// Steps of optimisers.

#include <cmath>

#include "core/graph/interpreter/computation.h"

namespace hocket {

Result<void> compute_adamw(Computation& computation) {
  const Attributes& attributes = computation.attributes;
  const double beta1 = attributes.number("beta1"), beta2 = attributes.number("beta2");
  const double epsilon = attributes.number("epsilon");
  const double weight_decay = attributes.number("weight_decay");
  const double rate = computation.x(4)[0], step = computation.x(5)[0];
  if (step < 1) {
    return failure(ErrorCode::invalid_argument,
                   "step: expected 1 or more, found " + std::to_string(std::llround(step)));
  }
  const double correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);
  for (std::size_t i = 0; i < computation.x(0).size(); ++i) {
    const double parameter = computation.x(0)[i], gradient = computation.x(1)[i];
    const double first = beta1 * computation.x(2)[i] + (1 - beta1) * gradient;
    const double second = beta2 * computation.x(3)[i] + (1 - beta2) * gradient * gradient;
    const double direction = (first / correction1) / (std::sqrt(second / correction2) + epsilon);
    computation.y(0)[i] = parameter - rate * (direction + weight_decay * parameter);
    computation.y(1)[i] = first;
    computation.y(2)[i] = second;
  }
  return {};
}

void compute_sgd(Computation& computation) {
  const double momentum = computation.attributes.number("momentum");
  const double weight_decay = computation.attributes.number("weight_decay");
  const double rate = computation.x(3)[0];
  for (std::size_t i = 0; i < computation.x(0).size(); ++i) {
    const double parameter = computation.x(0)[i];
    const double velocity =
        momentum * computation.x(2)[i] + computation.x(1)[i] + weight_decay * parameter;
    computation.y(0)[i] = parameter - rate * velocity;
    computation.y(1)[i] = velocity;
  }
}

}  // namespace hocket
