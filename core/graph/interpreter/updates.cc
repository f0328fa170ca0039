// Steps of optimisers.

#include <cstdint>
#include <string>

#include "core/graph/interpreter/computation.h"

namespace hocket {

template <class T>
Result<void> compute_adamw(Computation<T>& computation) {
  const Attributes& attributes = computation.attributes;
  const T beta1 = attributes.number("beta1"), beta2 = attributes.number("beta2");
  const T epsilon = attributes.number("epsilon");
  const T weight_decay = attributes.number("weight_decay");
  const T gradient_scale = attributes.number("gradient_scale");
  const T rate = computation.x(4)[0];
  const std::int64_t step = whole_of(computation.x(5)[0]);
  if (step < 1) {
    return failure(ErrorCode::invalid_argument,
                   "step: expected 1 or more, found " + std::to_string(step));
  }
  const T correction1 = 1 - power_of(beta1, step), correction2 = 1 - power_of(beta2, step);
  for (std::size_t i = 0; i < computation.x(0).size(); ++i) {
    const T parameter = computation.x(0)[i], gradient = gradient_scale * computation.x(1)[i];
    const T first = beta1 * computation.x(2)[i] + (1 - beta1) * gradient;
    const T second = beta2 * computation.x(3)[i] + (1 - beta2) * gradient * gradient;
    const T direction = (first / correction1) / (root_of(second / correction2) + epsilon);
    computation.y(0)[i] = parameter - rate * (direction + weight_decay * parameter);
    computation.y(1)[i] = first;
    computation.y(2)[i] = second;
  }
  return {};
}

template <class T>
void compute_sgd(Computation<T>& computation) {
  const T momentum = computation.attributes.number("momentum");
  const T weight_decay = computation.attributes.number("weight_decay");
  const T gradient_scale = computation.attributes.number("gradient_scale");
  const T rate = computation.x(3)[0];
  for (std::size_t i = 0; i < computation.x(0).size(); ++i) {
    const T parameter = computation.x(0)[i];
    const T velocity = momentum * computation.x(2)[i] + gradient_scale * computation.x(1)[i] +
                       weight_decay * parameter;
    computation.y(0)[i] = parameter - rate * velocity;
    computation.y(1)[i] = velocity;
  }
}

HOCKET_FOR_ALL_NUMBERS(Result<void>, compute_adamw);
HOCKET_FOR_ALL_NUMBERS(void, compute_sgd);

}  // namespace hocket
