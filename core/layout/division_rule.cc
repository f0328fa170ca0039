#include "core/layout/division_rule.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "core/layout/division_rules.h"

namespace hocket {

using Kind = OperationKind;

/// Dimensions of the result that the first `count` operands have, too, or are broadcast to.
void DivisionRules::elementwise(std::size_t count) {
  for (std::size_t d = 0; d < y().size(); ++d) {
    if (y()[d] == 1) continue;
    DivisionRule rule = whole();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t missing = y().size() - x(i).size();
      if (d >= missing && x(i)[d - missing] == y()[d])
        rule.operands[i] = AxisLayout::divided(d - missing);
    }
    rule.results[0] = AxisLayout::divided(d);
    add(std::move(rule));
  }
}

void DivisionRules::linear_elementwise() {
  switch (kind_) {
    case Kind::add:
    case Kind::subtract:
      // A summand that is broadcast is added where its numbers are, on each rank its own.
      return add_linear({0, 1});
    case Kind::multiply:
      add_linear({0});
      return add_linear({1});
    case Kind::divide:
    case Kind::scale:
    case Kind::dropout:
      return add_linear({0});
    case Kind::relu_gradient:
    case Kind::gelu_gradient:
    case Kind::silu_gradient:
      return add_linear({1});
    case Kind::select:
      return add_linear({1, 2});
    case Kind::convert:
      // Sums of numbers that were rounded are not the rounded sums.
      if (number_bytes(operands_[0].numbers) < number_bytes(results_[0].numbers))
        return add_linear({0});
      return;
    default:
      return;
  }
}

/// Dimensions but the `inner` innermost ones, which these operands and all results have, but for
/// those results that are sums over them.
void DivisionRules::rows(std::initializer_list<std::size_t> operands,
                         std::initializer_list<std::size_t> partial, std::size_t inner) {
  const Shape& shape = x(*operands.begin());
  for (std::size_t d = 0; d + inner < shape.size(); ++d) {
    DivisionRule rule = whole();
    for (const std::size_t i : operands) rule.operands[i] = AxisLayout::divided(d);
    std::ranges::fill(rule.results, AxisLayout::divided(d));
    for (const std::size_t i : partial) rule.results[i] = AxisLayout::partial();
    add(std::move(rule));
  }
}

void DivisionRules::reduction(bool is_sum) {
  std::vector<bool> is_reduced(x().size());
  for (const std::int64_t dimension : attributes_.integers("dimensions"))
    is_reduced[dimension_at(dimension, x().size())] = true;
  const bool keeps = attributes_.flag("keep");
  std::size_t at = 0;
  for (std::size_t d = 0; d < x().size(); ++d) {
    if (is_reduced[d]) {
      if (is_sum) {
        DivisionRule rule = whole();
        rule.operands[0] = AxisLayout::divided(d);
        rule.results[0] = AxisLayout::partial();
        add(std::move(rule));
      }
      at += keeps;
    } else {
      add(with_dimension({{0, d}}, {{0, at++}}));
    }
  }
  if (is_sum) add_linear({0});
}

/// Both shapes are products of the same runs of dimensions. Within a run a dimension of one is a
/// part of a dimension of the other: of [batch, sequence] as rows, the sequence is divided within
/// each of `batch` parts of the rows.
void DivisionRules::reshape() {
  std::size_t from = 0, to = 0;
  while (from < x().size() && to < y().size()) {
    const std::size_t first_from = from, first_to = to;
    std::int64_t one = x()[from++], other = y()[to++];
    while (one != other) {
      if (one < other)
        one *= x()[from++];
      else
        other *= y()[to++];
    }
    // Numbers of parts, outermost first, at which a dimension of either begins or ends.
    std::int64_t before = 1;
    std::size_t i = first_from, j = first_to;
    std::int64_t before_i = 1, before_j = 1;
    while (before < one && i < from && j < to) {
      const std::int64_t end_i = before_i * x()[i], end_j = before_j * y()[j];
      const std::int64_t end = std::min(end_i, end_j);
      if (end > before && one % end == 0 && end % before == 0 && before % before_i == 0 &&
          before % before_j == 0) {
        DivisionRule rule = whole();
        rule.operands[0] = AxisLayout::divided(i, before / before_i);
        rule.results[0] = AxisLayout::divided(j, before / before_j);
        add(std::move(rule));
      }
      before = std::max(before, end);
      if (end == end_i) {
        before_i = end_i;
        ++i;
      }
      if (end == end_j) {
        before_j = end_j;
        ++j;
      }
    }
  }
  add_linear({0});
}

void DivisionRules::transpose() {
  const auto& order = attributes_.integers("order");
  for (std::size_t d = 0; d < order.size(); ++d)
    add(with_dimension({{0, dimension_at(order[d], order.size())}}, {{0, d}}));
  add_linear({0});
}

/// One dimension of the larger value is cut at these edges, the last of which is its size. Between
/// the first two is the smaller value.
void DivisionRules::cut(std::size_t dimension, std::span<const std::int64_t> edges) {
  const bool is_slice = kind_ == Kind::slice;
  for (std::size_t d = 0; d < x().size(); ++d)
    if (d != dimension) add(with_dimension({{0, d}}, {{0, d}}));
  std::int64_t unit = 0;
  for (const std::int64_t edge : edges) unit = std::gcd(unit, edge);
  DivisionRule rule = whole();
  const std::int64_t whole_size = edges.back(), cut_size = edges[1] - edges[0];
  rule.operands[0] = AxisLayout::divided(dimension, (is_slice ? whole_size : cut_size) / unit);
  rule.results[0] = AxisLayout::divided(dimension, (is_slice ? cut_size : whole_size) / unit);
  add(std::move(rule));
  add_linear({0});
}

void DivisionRules::concatenate() {
  const std::size_t dimension = dimension_at(integer("dimension"), y().size());
  std::int64_t unit = 0;
  for (std::size_t i = 0; i < operands_.size(); ++i) unit = std::gcd(unit, x(i)[dimension]);
  for (std::size_t d = 0; d < y().size(); ++d) {
    DivisionRule rule = whole();
    for (std::size_t i = 0; i < operands_.size(); ++i)
      rule.operands[i] = AxisLayout::divided(d, d == dimension ? x(i)[d] / unit : 1);
    rule.results[0] = AxisLayout::divided(d, d == dimension ? y()[d] / unit : 1);
    add(std::move(rule));
  }
  DivisionRule linear = whole();
  std::ranges::fill(linear.operands, AxisLayout::partial());
  linear.results[0] = AxisLayout::partial();
  add(std::move(linear));
}

void DivisionRules::broadcast() {
  elementwise(1);
  add_linear({0});
}

std::vector<DivisionRule> DivisionRules::find() && {
  switch (kind_) {
    case Kind::input:
    case Kind::parameter:
    case Kind::constant:
    case Kind::is_finite:
      break;
    case Kind::dropout:
      elementwise(1);
      for (DivisionRule& rule : rules_) rule.is_contiguous = true;
      linear_elementwise();
      break;
    case Kind::sum:
    case Kind::maximum:
      reduction(kind_ == Kind::sum);
      break;
    case Kind::maximum_gradient:
      for (std::size_t d = 0; d < x(0).size(); ++d)
        if (x(1)[d] == x(0)[d]) add(with_dimension({{0, d}, {1, d}, {2, d}}, {{0, d}}));
      break;
    case Kind::reshape:
      reshape();
      break;
    case Kind::transpose:
      transpose();
      break;
    case Kind::slice: {
      const std::size_t dimension = dimension_at(integer("dimension"), x().size());
      const std::int64_t edges[] = {integer("begin"), integer("end"), x()[dimension]};
      cut(dimension, edges);
      break;
    }
    case Kind::pad: {
      const std::size_t dimension = dimension_at(integer("dimension"), x().size());
      const std::int64_t before = integer("before");
      const std::int64_t edges[] = {before, before + x()[dimension], y()[dimension]};
      cut(dimension, edges);
      break;
    }
    case Kind::concatenate:
      concatenate();
      break;
    case Kind::broadcast:
      broadcast();
      break;
    case Kind::matmul:
      matmul();
      break;
    case Kind::layer_norm:
    case Kind::rms_norm:
    case Kind::softmax:
    case Kind::top_k:
      rows({0}, {});
      break;
    case Kind::layer_norm_gradient:
      if (!attributes_.flag("residual")) rows({0, 2, 3, 4}, {1, 2});
      break;
    case Kind::rms_norm_gradient:
      if (!attributes_.flag("residual")) rows({0, 2, 3}, {1});
      break;
    case Kind::softmax_gradient:
      rows({0, 1}, {});
      add_linear({1});
      break;
    case Kind::attention:
      attention();
      break;
    case Kind::attention_gradient:
      attention_gradient();
      break;
    case Kind::rotary:
      rotary();
      break;
    case Kind::embedding:
      embedding();
      break;
    case Kind::embedding_gradient:
      embedding_gradient();
      break;
    case Kind::cross_entropy:
      rows({0, 1}, {});
      classes();
      break;
    case Kind::cross_entropy_gradient:
      rows({0, 1, 2, 3}, {});
      classes();
      add_linear({3});
      break;
    case Kind::top_k_gradient:
      rows({0, 1}, {});
      add_linear({1});
      break;
    case Kind::dispatch:
    case Kind::dispatch_gradient:
    case Kind::combine:
    case Kind::combine_gradient:
      experts();
      break;
    case Kind::adamw:
      update(3);
      break;
    case Kind::sgd:
      update(2);
      break;
    case Kind::exponential_sum:
    case Kind::pick:
    case Kind::all_reduce:
    case Kind::all_gather:
    case Kind::reduce_scatter:
    case Kind::all_to_all:
      break;  // of programs that are divided already
    case Kind::add:
    case Kind::subtract:
    case Kind::multiply:
    case Kind::divide:
    case Kind::scale:
    case Kind::exponential:
    case Kind::logarithm:
    case Kind::square_root:
    case Kind::reciprocal_square_root:
    case Kind::tanh:
    case Kind::sigmoid:
    case Kind::relu:
    case Kind::gelu:
    case Kind::silu:
    case Kind::swiglu:
    case Kind::relu_gradient:
    case Kind::gelu_gradient:
    case Kind::silu_gradient:
    case Kind::select:
    case Kind::convert:
      elementwise(operands_.size());
      linear_elementwise();
      break;
  }
  return std::move(rules_);
}

AxisLayout along(const Layout& layout, std::size_t axis) {
  if (layout.is_partial(axis)) return AxisLayout::partial();
  const auto place = layout.place(axis);
  return place ? AxisLayout::divided(place->dimension, place->parts) : AxisLayout{};
}

void set_along(Layout& layout, std::size_t axis, const AxisLayout& state) {
  if (state.kind == AxisLayout::Kind::partial) layout.make_partial(axis);
  if (state.kind == AxisLayout::Kind::divided) layout.divide(axis, state.place);
}

std::vector<DivisionRule> division_rules(OperationKind kind, const Attributes& attributes,
                                         std::span<const ValueType> operands,
                                         std::span<const ValueType> results) {
  return DivisionRules(kind, attributes, operands, results).find();
}

std::vector<DivisionRule> division_rules(const Graph& graph, const Operation& operation) {
  std::vector<ValueType> operands, results;
  for (const ValueId operand : operation.operands) operands.push_back(graph.type(operand));
  for (std::size_t i = 0; i < graph.results(operation); ++i)
    results.push_back(graph.type(graph.result(operation, i)));
  return division_rules(operation.kind, operation.attributes, operands, results);
}

DivisionRule with_parts(DivisionRule rule, std::int64_t factor) {
  HOCKET_CHECK(!rule.is_contiguous || factor == 1, "indices that stay together");
  for (auto* values : {&rule.operands, &rule.results})
    for (AxisLayout& state : *values)
      if (state.kind == AxisLayout::Kind::divided) state.place.parts *= factor;
  return rule;
}

}  // namespace hocket
