#pragma once

// One operation with the numbers of its operands and results, and the functions that compute them.
// Private to core/graph. Pure.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/interpreter/interpreter.h"
#include "core/graph/operation.h"

namespace hocket {

struct Computation {
  OperationKind kind;
  const Attributes& attributes;
  std::vector<const Numbers*> operands;
  /// They have their types, and are 0 before they are computed.
  std::vector<Numbers> results;

  const std::vector<double>& x(std::size_t i) const { return operands[i]->values; }
  std::vector<double>& y(std::size_t i = 0) { return results[i].values; }
  const Shape& shape(std::size_t i) const { return operands[i]->type.shape; }

  /// Returns number `at` of operand `i` as an index. invalid_argument if it is not `low` or more
  /// and below `size`.
  Result<std::int64_t> index(std::size_t i, std::size_t at, std::int64_t size,
                             std::int64_t low = 0) const {
    const auto found = static_cast<std::int64_t>(x(i)[at]);
    if (found >= low && found < size) return found;
    return failure(ErrorCode::invalid_argument,
                   std::string(operand_names(kind, attributes)[i]) + ": expected numbers from " +
                       std::to_string(low) + " to " + std::to_string(size - 1) + ", found " +
                       std::to_string(found) + " at place " + std::to_string(at));
  }
};

/// The innermost dimension of an operand, and how many rows of it there are.
struct Rows {
  Rows(const Computation& computation, std::size_t operand)
      : width(static_cast<std::size_t>(computation.shape(operand).back())),
        count(computation.x(operand).size() / width) {}

  std::size_t width;
  std::size_t count;
};

/// The largest number of a row, by which its exponentials are divided so that none is too large,
/// and the sum of these.
struct ExponentialSum {
  double most = 0;
  double sum = 0;

  /// Returns the logarithm of the sum of the exponentials themselves.
  double logarithm() const { return std::log(sum) + most; }
  /// Returns the share of the sum that a number of the row has.
  double share(double x) const { return std::exp(x - most) / sum; }
};

ExponentialSum exponential_sum(std::span<const double> row);

/// Computes the results. invalid_argument for an index that is out of range.
Result<void> compute(Computation& computation);

// The functions of the kinds, among which compute() chooses.
void compute_elementwise(Computation& computation);
double elementwise(OperationKind kind, double x);
double elementwise(OperationKind kind, double a, double b);
void compute_select(Computation& computation);
void compute_is_finite(Computation& computation);
void compute_dropout(Computation& computation);

void compute_reduction(Computation& computation);
void compute_maximum_gradient(Computation& computation);
void compute_layout(Computation& computation);

void compute_matmul(Computation& computation);
void compute_layer_norm(Computation& computation);
void compute_layer_norm_gradient(Computation& computation);
void compute_rms_norm(Computation& computation);
void compute_rms_norm_gradient(Computation& computation);
void compute_softmax(Computation& computation);
void compute_softmax_gradient(Computation& computation);

void compute_attention(Computation& computation);
void compute_attention_gradient(Computation& computation);
void compute_rotary(Computation& computation);

Result<void> compute_embedding(Computation& computation);
Result<void> compute_embedding_gradient(Computation& computation);
Result<void> compute_cross_entropy(Computation& computation);
Result<void> compute_cross_entropy_gradient(Computation& computation);
void compute_top_k(Computation& computation);
Result<void> compute_top_k_gradient(Computation& computation);

Result<void> compute_dispatch(Computation& computation);
Result<void> compute_dispatch_gradient(Computation& computation);
Result<void> compute_combine(Computation& computation);
Result<void> compute_combine_gradient(Computation& computation);

Result<void> compute_adamw(Computation& computation);
void compute_sgd(Computation& computation);

}  // namespace hocket
