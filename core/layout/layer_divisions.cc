// The divisions of layers: products, attention, tables, losses, experts and updates.

#include <algorithm>
#include <utility>

#include "core/layout/division_rules.h"

namespace hocket {

using Kind = OperationKind;

void DivisionRules::matmul() {
  for (const char* epilogue : {"bias", "residual", "keeps_before", "sums_a"})
    if (attributes_.flag(epilogue)) return;
  if (attributes_.word("activation") != "none" || attributes_.word("gradient_of") != "none") return;
  const std::size_t rank_a = x(0).size(), rank_b = x(1).size(), rank = y().size();
  const bool is_a = attributes_.flag("transpose_a"), is_b = attributes_.flag("transpose_b");
  const std::size_t row = rank_a - (is_a ? 1 : 2), inner_a = rank_a - (is_a ? 2 : 1);
  const std::size_t column = rank_b - (is_b ? 2 : 1), inner_b = rank_b - (is_b ? 1 : 2);
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    DivisionRule rule = whole();
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t missing = rank - x(i).size();
      if (d >= missing && x(i)[d - missing] == y()[d])
        rule.operands[i] = AxisLayout::divided(d - missing);
    }
    rule.results[0] = AxisLayout::divided(d);
    add(std::move(rule));
  }
  add(with_dimension({{0, row}}, {{0, rank - 2}}));
  add(with_dimension({{1, column}}, {{0, rank - 1}}));
  DivisionRule sum = with_dimension({{0, inner_a}, {1, inner_b}}, {});
  sum.results[0] = AxisLayout::partial();
  add(std::move(sum));
  add_linear({0});
  add_linear({1});
}

void DivisionRules::attention() {
  add(with_dimension({{0, 0}, {1, 0}, {2, 0}}, {{0, 0}, {1, 0}}));
  add(with_dimension({{0, 1}, {1, 1}, {2, 1}}, {{0, 1}, {1, 1}}));
  // The first queries of more than there are keys see none.
  if (x(0)[2] > x(1)[2]) return;
  DivisionRule queries = with_dimension({{0, 2}}, {{0, 2}, {1, 2}});
  queries.is_contiguous = true;
  add(std::move(queries));
}

void DivisionRules::attention_gradient() {
  for (const std::size_t d : {std::size_t{0}, std::size_t{1}}) {
    add(with_dimension({{0, d}, {1, d}, {2, d}, {3, d}, {4, d}, {5, d}}, {{0, d}, {1, d}, {2, d}}));
  }
  if (x(0)[2] > x(1)[2]) return;
  DivisionRule queries = with_dimension({{0, 2}, {3, 2}, {4, 2}, {5, 2}}, {{0, 2}});
  queries.results[1] = queries.results[2] = AxisLayout::partial();
  queries.is_contiguous = true;
  add(std::move(queries));
}

void DivisionRules::rotary() {
  rows({0}, {}, 2);
  DivisionRule positions = with_dimension({{0, x().size() - 2}}, {{0, x().size() - 2}});
  positions.is_contiguous = true;
  add(std::move(positions));
  add_linear({0});
}

void DivisionRules::embedding() {
  for (std::size_t d = 0; d < x(1).size(); ++d) add(with_dimension({{1, d}}, {{0, d}}));
  add(with_dimension({{0, 1}}, {{0, y().size() - 1}}));
  DivisionRule table = with_dimension({{0, 0}}, {});
  table.results[0] = AxisLayout::partial();
  table.is_contiguous = true;
  add(std::move(table));
}

void DivisionRules::embedding_gradient() {
  for (std::size_t d = 0; d < x(0).size(); ++d) {
    DivisionRule rule = with_dimension({{0, d}, {1, d}}, {});
    rule.results[0] = AxisLayout::partial();
    add(std::move(rule));
  }
  add(with_dimension({{1, x(1).size() - 1}}, {{0, 1}}));
  DivisionRule table = with_dimension({}, {{0, 0}});
  table.is_contiguous = true;
  add(std::move(table));
  add_linear({1});
}

/// Classes of a loss, whose logits each rank has of some.
void DivisionRules::classes() {
  DivisionRule rule = with_dimension({{0, x().size() - 1}}, {});
  rule.is_contiguous = true;
  if (kind_ == Kind::cross_entropy_gradient) rule.results[0] = AxisLayout::divided(x().size() - 1);
  add(std::move(rule));
}

void DivisionRules::experts() {
  const auto contiguous = [&](DivisionRule rule) {
    rule.is_contiguous = true;
    add(std::move(rule));
  };
  DivisionRule sum;
  switch (kind_) {
    case Kind::dispatch:
      add(with_dimension({{0, 1}}, {{0, 2}}));
      return contiguous(with_dimension({}, {{0, 0}}));
    case Kind::dispatch_gradient:
      add(with_dimension({{2, 2}}, {{0, 1}}));
      sum = with_dimension({{2, 0}}, {});
      sum.results[0] = AxisLayout::partial();
      return contiguous(std::move(sum));
    case Kind::combine:
      add(with_dimension({{0, 2}}, {{0, 1}}));
      sum = with_dimension({{0, 0}}, {});
      sum.results[0] = AxisLayout::partial();
      return contiguous(std::move(sum));
    default:  // combine_gradient
      sum = with_dimension({{0, 2}, {4, 1}}, {{0, 2}});
      sum.results[1] = AxisLayout::partial();
      add(std::move(sum));
      sum = with_dimension({{0, 0}}, {{0, 0}});
      sum.results[1] = AxisLayout::partial();
      return contiguous(std::move(sum));
  }
}

void DivisionRules::update(std::size_t states) {
  for (std::size_t d = 0; d < x().size(); ++d) {
    DivisionRule rule = whole();
    for (std::size_t i = 0; i < states + 1; ++i) rule.operands[i] = AxisLayout::divided(d);
    std::ranges::fill(rule.results, AxisLayout::divided(d));
    add(std::move(rule));
  }
}

}  // namespace hocket
