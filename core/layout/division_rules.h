#pragma once

// Finds the rules of one operation. Private to this folder. Pure.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/layout/division_rule.h"

namespace hocket {

class DivisionRules {
 public:
  DivisionRules(OperationKind kind, const Attributes& attributes,
                std::span<const ValueType> operands, std::span<const ValueType> results)
      : kind_(kind), attributes_(attributes), operands_(operands), results_(results) {}

  std::vector<DivisionRule> find() &&;

 private:
  const Shape& x(std::size_t i = 0) const { return operands_[i].shape; }
  const Shape& y(std::size_t i = 0) const { return results_[i].shape; }
  std::int64_t integer(std::string_view name) const { return attributes_.integer(name); }

  /// A rule in which everything is whole.
  DivisionRule whole() const {
    return {std::vector<AxisLayout>(operands_.size()), std::vector<AxisLayout>(results_.size())};
  }
  void add(DivisionRule rule) { rules_.push_back(std::move(rule)); }

  /// Partial sums in these operands pass through.
  void add_linear(std::initializer_list<std::size_t> partial) {
    DivisionRule rule = whole();
    for (const std::size_t i : partial) rule.operands[i] = AxisLayout::partial();
    std::ranges::fill(rule.results, AxisLayout::partial());
    add(std::move(rule));
  }

  /// A dimension that some operands and results have, each at its own place.
  struct Place {
    std::size_t value = 0, dimension = 0;
  };
  DivisionRule with_dimension(std::initializer_list<Place> operands,
                              std::initializer_list<Place> results) const {
    DivisionRule rule = whole();
    for (const Place& place : operands)
      rule.operands[place.value] = AxisLayout::divided(place.dimension);
    for (const Place& place : results)
      rule.results[place.value] = AxisLayout::divided(place.dimension);
    return rule;
  }

  // Elementwise operations, reductions, and what moves numbers (division_rule.cc).
  void elementwise(std::size_t operands);
  void linear_elementwise();
  void rows(std::initializer_list<std::size_t> operands, std::initializer_list<std::size_t> partial,
            std::size_t inner = 1);
  void reduction(bool is_sum);
  void reshape();
  void transpose();
  void cut(std::size_t dimension, std::span<const std::int64_t> edges);
  void concatenate();
  void broadcast();
  // Layers (layer_divisions.cc).
  void matmul();
  void attention();
  void attention_gradient();
  void rotary();
  void embedding();
  void embedding_gradient();
  void classes();
  void experts();
  void update(std::size_t states);

  const OperationKind kind_;
  const Attributes& attributes_;
  const std::span<const ValueType> operands_, results_;
  std::vector<DivisionRule> rules_;
};

}  // namespace hocket
