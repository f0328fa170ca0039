#pragma once

// The derivative of each operation: from the gradient of its first result to those of its operands.
// Private to this folder. Pure.

#include <cstddef>
#include <functional>

#include "core/base/result.h"
#include "core/graph/graph_builder.h"

namespace hocket {

/// An operation whose derivative is sought.
struct DifferentiatedOperation {
  GraphBuilder& builder;
  const Operation& operation;
  /// Gradient of the first result.
  Value dy;
  /// Returns true for an operand whose gradient is wanted.
  std::function<bool(std::size_t operand)> wants;
  /// Takes the gradient of an operand, of its type.
  std::function<void(std::size_t operand, Value gradient)> give;

  Value operand(std::size_t i) const { return builder.value(operation.operands[i]); }
  Value result(std::size_t i = 0) const {
    return builder.value(builder.graph().result(operation, i));
  }
};

/// Adds the operations of the derivative. invalid_argument for an operation that has none.
Result<void> add_derivative(const DifferentiatedOperation& of);

}  // namespace hocket
