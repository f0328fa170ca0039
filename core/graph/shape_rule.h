#pragma once

// The rules by which the types of an operation's results follow from those of its operands. Private
// to this folder. Pure.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/operation.h"

namespace hocket {

using ResultTypes = std::vector<ValueType>;

/// An operation whose results' types are sought. Its checks name the operand.
class ShapeRule {
 public:
  ShapeRule(OperationKind kind, const Attributes& attributes, std::span<const ValueType> operands)
      : attributes(attributes),
        is_variadic_(declaration_of(kind).is_variadic),
        names_(operand_names(kind, attributes)),
        operands_(operands) {}

  std::size_t size() const { return operands_.size(); }
  const ValueType& operator[](std::size_t i) const { return operands_[i]; }
  const Shape& shape(std::size_t i) const { return operands_[i].shape; }
  std::size_t rank(std::size_t i) const { return operands_[i].shape.size(); }

  tl::unexpected<Error> wrong(std::size_t i, const std::string& expected) const {
    return failure(ErrorCode::invalid_argument,
                   name(i) + ": expected " + expected + ", found " + to_string(operands_[i]));
  }
  tl::unexpected<Error> wrong(std::string_view attribute, const std::string& what) const {
    return failure(ErrorCode::invalid_argument, std::string(attribute) + ": " + what);
  }

  Result<void> floating(std::size_t i) const {
    if (!is_floating(operands_[i].numbers)) return wrong(i, "floating-point numbers");
    return {};
  }
  Result<void> numbers(std::size_t i, NumberType type) const {
    if (operands_[i].numbers != type) return wrong(i, std::string(to_string(type)));
    return {};
  }
  Result<void> is(std::size_t i, const ValueType& type) const {
    if (operands_[i] != type) return wrong(i, to_string(type));
    return {};
  }
  Result<void> rank_from(std::size_t i, std::size_t least) const {
    if (rank(i) < least) return wrong(i, "at least " + std::to_string(least) + " dimensions");
    return {};
  }
  /// All operands are floating-point numbers of one type.
  Result<void> same_numbers() const {
    for (std::size_t i = 0; i < size(); ++i) {
      HOCKET_TRY(floating(i));
      HOCKET_TRY(numbers(i, operands_[0].numbers));
    }
    return {};
  }
  /// Returns the dimension that an attribute names of an operand.
  Result<std::size_t> dimension(std::string_view name, std::int64_t of, std::size_t i) const {
    const auto size = static_cast<std::int64_t>(rank(i));
    if (of >= -size && of < size) return dimension_at(of, rank(i));
    return wrong(name, "expected a dimension of " + to_string(operands_[i]) + ", found " +
                           std::to_string(of));
  }
  std::string name(std::size_t i) const {
    const std::size_t last = names_.size() - 1;
    if (is_variadic_ && i >= last)
      return std::string(names_[last]) + "[" + std::to_string(i - last) + "]";
    return std::string(names_[i]);
  }
  /// Returns the place of an operand that may be absent.
  std::optional<std::size_t> place(std::string_view operand) const {
    const auto found = std::find(names_.begin(), names_.end(), operand);
    if (found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }

  const Attributes& attributes;

 private:
  const bool is_variadic_;
  const std::vector<std::string_view> names_;
  std::span<const ValueType> operands_;
};

inline ValueType with_shape(const ValueType& type, Shape shape) {
  return {type.numbers, std::move(shape)};
}

/// Returns the shape with the innermost dimension of size `size`.
inline Shape with_innermost(Shape shape, std::int64_t size) {
  shape.back() = size;
  return shape;
}

/// Elementwise operations, reductions, layout and products.
Result<ResultTypes> elementwise_rule(const ShapeRule& rule);
Result<ResultTypes> gradient_rule(const ShapeRule& rule);
Result<ResultTypes> select_rule(const ShapeRule& rule);
Result<ResultTypes> is_finite_rule(const ShapeRule& rule);
Result<ResultTypes> convert_rule(const ShapeRule& rule);
Result<ResultTypes> dropout_rule(const ShapeRule& rule);
Result<ResultTypes> reduction_rule(const ShapeRule& rule);
Result<ResultTypes> maximum_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> reshape_rule(const ShapeRule& rule);
Result<ResultTypes> transpose_rule(const ShapeRule& rule);
Result<ResultTypes> slice_rule(const ShapeRule& rule);
Result<ResultTypes> pad_rule(const ShapeRule& rule);
Result<ResultTypes> concatenate_rule(const ShapeRule& rule);
Result<ResultTypes> broadcast_rule(const ShapeRule& rule);
Result<ResultTypes> matmul_rule(const ShapeRule& rule);
/// Normalisation, attention, tables, losses, experts and updates.
Result<ResultTypes> layer_norm_rule(const ShapeRule& rule);
Result<ResultTypes> layer_norm_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> rms_norm_rule(const ShapeRule& rule);
Result<ResultTypes> rms_norm_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> softmax_rule(const ShapeRule& rule);
Result<ResultTypes> attention_rule(const ShapeRule& rule);
Result<ResultTypes> attention_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> rotary_rule(const ShapeRule& rule);
Result<ResultTypes> embedding_rule(const ShapeRule& rule);
Result<ResultTypes> embedding_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> cross_entropy_rule(const ShapeRule& rule);
Result<ResultTypes> cross_entropy_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> exponential_sum_rule(const ShapeRule& rule);
Result<ResultTypes> pick_rule(const ShapeRule& rule);
Result<ResultTypes> communication_rule(const ShapeRule& rule, OperationKind kind);
Result<ResultTypes> top_k_rule(const ShapeRule& rule);
Result<ResultTypes> top_k_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> dispatch_rule(const ShapeRule& rule);
Result<ResultTypes> dispatch_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> combine_rule(const ShapeRule& rule);
Result<ResultTypes> combine_gradient_rule(const ShapeRule& rule);
Result<ResultTypes> adamw_rule(const ShapeRule& rule);
Result<ResultTypes> sgd_rule(const ShapeRule& rule);

}  // namespace hocket
