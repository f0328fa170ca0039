#pragma once

// One operation with the numbers of its operands and results, and the functions that compute them,
// for doubles and for residues. Private to core/graph/interpreter. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/interpreter/functions.h"
#include "core/graph/interpreter/interpreter.h"
#include "core/graph/operation.h"

/// Instantiates a function of a computation for each type of numbers.
#define HOCKET_FOR_ALL_NUMBERS(result, function)  \
  template result function(Computation<double>&); \
  template result function(Computation<Residue>&)

namespace hocket {

template <class T>
struct Computation {
  OperationKind kind;
  const Attributes& attributes;
  std::vector<const BasicNumbers<T>*> operands;
  /// They have their types, and are 0 before they are computed.
  std::vector<BasicNumbers<T>> results;

  const std::vector<T>& x(std::size_t i) const { return operands[i]->values; }
  std::vector<T>& y(std::size_t i = 0) { return results[i].values; }
  const Shape& shape(std::size_t i) const { return operands[i]->type.shape; }

  /// Returns number `at` of operand `i` as an index. invalid_argument if it is not `low` or more
  /// and below `size`.
  Result<std::int64_t> index(std::size_t i, std::size_t at, std::int64_t size,
                             std::int64_t low = 0) const {
    const auto found = whole_of(x(i)[at]);
    if (found >= low && found < size) return found;
    return failure(ErrorCode::invalid_argument,
                   std::string(operand_names(kind, attributes)[i]) + ": expected numbers from " +
                       std::to_string(low) + " to " + std::to_string(size - 1) + ", found " +
                       std::to_string(found) + " at place " + std::to_string(at));
  }

  /// Does the same for a part of a larger value that begins at the attribute "begin", if there is
  /// one: the index is counted from there, and none is outside of the part.
  Result<std::optional<std::int64_t>> index_in_part(std::size_t i, std::size_t at,
                                                    std::int64_t size) const {
    const std::int64_t begin = attributes.integer("begin");
    if (begin < 0) return index(i, at, size);
    const auto found = index(i, at, kMostNumbers);
    HOCKET_TRY(found);
    const std::int64_t in_part = *found - begin;
    return in_part >= 0 && in_part < size ? std::optional(in_part) : std::nullopt;
  }
};

/// The innermost dimension of an operand, and how many rows of it there are.
struct Rows {
  template <class T>
  Rows(const Computation<T>& computation, std::size_t operand)
      : width(static_cast<std::size_t>(computation.shape(operand).back())),
        count(computation.x(operand).size() / width) {}

  std::size_t width;
  std::size_t count;
};

/// The largest number of a row, by which its exponentials are divided so that none is too large,
/// and the sum of these.
template <class T>
struct ExponentialSum {
  T most = 0;
  T sum = 0;

  /// Returns the logarithm of the sum of the exponentials themselves.
  T logarithm() const { return logarithm_of(sum) + most; }
  /// Returns the share of the sum that a number of the row has.
  T share(T x) const { return exponential_of(x - most) / sum; }
};

template <class T>
ExponentialSum<T> exponential_sum(std::span<const T> row);

/// Computes the results. invalid_argument for an index that is out of range.
template <class T>
Result<void> compute(Computation<T>& computation);

// The functions of the kinds, among which compute() chooses.
template <class T>
void compute_elementwise(Computation<T>& computation);
template <class T>
T elementwise(OperationKind kind, T x);
template <class T>
T elementwise(OperationKind kind, T a, T b);
template <class T>
void compute_select(Computation<T>& computation);
template <class T>
void compute_is_finite(Computation<T>& computation);
template <class T>
void compute_dropout(Computation<T>& computation);

template <class T>
void compute_reduction(Computation<T>& computation);
template <class T>
void compute_maximum_gradient(Computation<T>& computation);
template <class T>
void compute_layout(Computation<T>& computation);

template <class T>
void compute_matmul(Computation<T>& computation);
template <class T>
void compute_layer_norm(Computation<T>& computation);
template <class T>
void compute_layer_norm_gradient(Computation<T>& computation);
template <class T>
void compute_rms_norm(Computation<T>& computation);
template <class T>
void compute_rms_norm_gradient(Computation<T>& computation);
template <class T>
void compute_softmax(Computation<T>& computation);
template <class T>
void compute_softmax_gradient(Computation<T>& computation);

template <class T>
void compute_attention(Computation<T>& computation);
template <class T>
void compute_attention_gradient(Computation<T>& computation);
template <class T>
void compute_rotary(Computation<T>& computation);

template <class T>
Result<void> compute_embedding(Computation<T>& computation);
template <class T>
Result<void> compute_embedding_gradient(Computation<T>& computation);
template <class T>
Result<void> compute_cross_entropy(Computation<T>& computation);
template <class T>
Result<void> compute_cross_entropy_gradient(Computation<T>& computation);
template <class T>
void compute_exponential_sum(Computation<T>& computation);
template <class T>
Result<void> compute_pick(Computation<T>& computation);
template <class T>
void compute_top_k(Computation<T>& computation);
template <class T>
Result<void> compute_top_k_gradient(Computation<T>& computation);

template <class T>
Result<void> compute_dispatch(Computation<T>& computation);
template <class T>
Result<void> compute_dispatch_gradient(Computation<T>& computation);
template <class T>
Result<void> compute_combine(Computation<T>& computation);
template <class T>
Result<void> compute_combine_gradient(Computation<T>& computation);

template <class T>
Result<void> compute_adamw(Computation<T>& computation);
template <class T>
void compute_sgd(Computation<T>& computation);

}  // namespace hocket
