// Elementwise operations, reductions, layout and products.

#include <utility>

#include "core/graph/shape_rule.h"

namespace hocket {

Result<ResultTypes> elementwise_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.same_numbers());
  Shape shape = rule.shape(0);
  for (std::size_t i = 1; i < rule.size(); ++i) {
    auto both = broadcast_shape(shape, rule.shape(i));
    HOCKET_TRY(both);
    shape = std::move(*both);
  }
  return ResultTypes{with_shape(rule[0], std::move(shape))};
}

Result<ResultTypes> gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.is(1, rule[0]));
  return ResultTypes{rule[0]};
}

Result<ResultTypes> select_rule(const ShapeRule& rule) {
  return elementwise_rule(rule);
}

Result<ResultTypes> is_finite_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  return ResultTypes{{NumberType::float32, {}}};
}

Result<ResultTypes> convert_rule(const ShapeRule& rule) {
  const NumberType type = rule.attributes.type("type");
  HOCKET_TRY(rule.floating(0));
  if (!is_floating(type)) return rule.wrong("type", "expected floating-point numbers");
  return ResultTypes{{type, rule.shape(0)}};
}

Result<ResultTypes> dropout_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.is(1, {NumberType::int32, {2}}));
  if (rule.attributes.number("rate") >= 1) return rule.wrong("rate", "expected less than 1");
  const Shape& whole = rule.attributes.integers("whole");
  const Shape& begins = rule.attributes.integers("begins");
  if (whole.empty() && begins.empty()) return ResultTypes{rule[0]};
  if (whole.size() != rule.rank(0) || !check_shape(whole))
    return rule.wrong("whole",
                      "expected a shape of " + std::to_string(rule.rank(0)) + " dimensions");
  if (begins.size() != rule.rank(0)) return rule.wrong("begins", "expected one for each dimension");
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (begins[i] > whole[i] - rule.shape(0)[i])
      return rule.wrong("begins", "expected a part of " + to_string(whole));
  return ResultTypes{rule[0]};
}

Result<ResultTypes> reduction_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  std::vector<bool> is_reduced(rule.rank(0));
  for (const std::int64_t each : rule.attributes.integers("dimensions")) {
    const auto dimension = rule.dimension("dimensions", each, 0);
    HOCKET_TRY(dimension);
    if (is_reduced[*dimension]) return rule.wrong("dimensions", "expected each once");
    is_reduced[*dimension] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < is_reduced.size(); ++i) {
    if (!is_reduced[i]) shape.push_back(rule.shape(0)[i]);
    if (is_reduced[i] && rule.attributes.flag("keep")) shape.push_back(1);
  }
  return ResultTypes{with_shape(rule[0], std::move(shape))};
}

Result<ResultTypes> maximum_gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.numbers(1, rule[0].numbers));
  const auto shape = broadcast_shape(rule.shape(0), rule.shape(1));
  if (!shape || *shape != rule.shape(0) || rule.rank(1) != rule.rank(0))
    return rule.wrong(1, "the maxima of " + to_string(rule[0]) + ", with their dimensions kept");
  HOCKET_TRY(rule.is(2, rule[1]));
  return ResultTypes{rule[0]};
}

Result<ResultTypes> reshape_rule(const ShapeRule& rule) {
  const Shape& shape = rule.attributes.integers("shape");
  HOCKET_TRY(check_shape(shape));
  if (count_of(shape) != rule[0].count())
    return rule.wrong(0,
                      "the " + std::to_string(count_of(shape)) + " numbers of " + to_string(shape));
  return ResultTypes{with_shape(rule[0], shape)};
}

Result<ResultTypes> transpose_rule(const ShapeRule& rule) {
  const auto& order = rule.attributes.integers("order");
  if (order.size() != rule.rank(0))
    return rule.wrong("order", "expected each dimension of " + to_string(rule[0]) + " once");
  Shape shape;
  std::vector<bool> is_taken(order.size());
  for (const std::int64_t each : order) {
    const auto dimension = rule.dimension("order", each, 0);
    HOCKET_TRY(dimension);
    if (is_taken[*dimension]) return rule.wrong("order", "expected each dimension once");
    is_taken[*dimension] = true;
    shape.push_back(rule.shape(0)[*dimension]);
  }
  return ResultTypes{with_shape(rule[0], std::move(shape))};
}

Result<ResultTypes> slice_rule(const ShapeRule& rule) {
  const auto dimension = rule.dimension("dimension", rule.attributes.integer("dimension"), 0);
  HOCKET_TRY(dimension);
  const std::int64_t begin = rule.attributes.integer("begin"), end = rule.attributes.integer("end");
  Shape shape = rule.shape(0);
  if (begin >= end || end > shape[*dimension]) {
    return rule.wrong("end", "expected more than begin, " + std::to_string(begin) +
                                 ", and at most the size, " + std::to_string(shape[*dimension]) +
                                 ", found " + std::to_string(end));
  }
  shape[*dimension] = end - begin;
  return ResultTypes{with_shape(rule[0], std::move(shape))};
}

Result<ResultTypes> pad_rule(const ShapeRule& rule) {
  const auto dimension = rule.dimension("dimension", rule.attributes.integer("dimension"), 0);
  HOCKET_TRY(dimension);
  Shape shape = rule.shape(0);
  shape[*dimension] += rule.attributes.integer("before") + rule.attributes.integer("after");
  return ResultTypes{with_shape(rule[0], std::move(shape))};
}

Result<ResultTypes> concatenate_rule(const ShapeRule& rule) {
  if (rule.size() == 0) return rule.wrong("x", "expected at least one operand");
  const auto dimension = rule.dimension("dimension", rule.attributes.integer("dimension"), 0);
  HOCKET_TRY(dimension);
  ValueType all = rule[0];
  for (std::size_t i = 1; i < rule.size(); ++i) {
    ValueType like = all;
    if (rule.rank(i) == like.shape.size()) like.shape[*dimension] = rule.shape(i)[*dimension];
    HOCKET_TRY(rule.is(i, like));
    all.shape[*dimension] += rule.shape(i)[*dimension];
  }
  return ResultTypes{all};
}

Result<ResultTypes> broadcast_rule(const ShapeRule& rule) {
  const Shape& shape = rule.attributes.integers("shape");
  HOCKET_TRY(check_shape(shape));
  const auto both = broadcast_shape(rule.shape(0), shape);
  if (!both || *both != shape) return rule.wrong(0, "what can be broadcast to " + to_string(shape));
  return ResultTypes{with_shape(rule[0], shape)};
}

namespace {

/// Checks the epilogue of a product with the result `y`, which has the number type of the operands
/// unless it widens, and adds what else it gives. `sums` is the shape of the sums of a.
Result<ResultTypes> with_epilogue(const ShapeRule& rule, const ValueType& narrow, Shape sums) {
  const Attributes& attributes = rule.attributes;
  ValueType y = narrow;
  if (attributes.flag("widens")) y.numbers = NumberType::float32;
  if (const auto bias = rule.place("bias"))
    HOCKET_TRY(rule.is(*bias, with_shape(narrow, {narrow.shape.back()})));
  if (const auto before = rule.place("before")) HOCKET_TRY(rule.is(*before, narrow));
  if (const auto residual = rule.place("residual")) HOCKET_TRY(rule.is(*residual, y));
  const bool activates = attributes.word("activation") != "none";
  if (activates && attributes.word("gradient_of") != "none")
    return rule.wrong("gradient_of", "expected none beside an activation");
  ResultTypes results{y};
  if (attributes.flag("keeps_before")) {
    if (!activates) return rule.wrong("keeps_before", "expected an activation");
    results.push_back(narrow);
  }
  if (attributes.flag("sums_a")) {
    if (rule.rank(0) != 2) return rule.wrong(0, "2 dimensions, of which one is summed");
    results.push_back(with_shape(y, std::move(sums)));
  }
  return results;
}

}  // namespace

Result<ResultTypes> matmul_rule(const ShapeRule& rule) {
  for (std::size_t i = 0; i < 2; ++i) {
    HOCKET_TRY(rule.floating(i));
    HOCKET_TRY(rule.numbers(i, rule[0].numbers));
  }
  HOCKET_TRY(rule.rank_from(0, 2));
  HOCKET_TRY(rule.rank_from(1, 2));
  Shape a = rule.shape(0), b = rule.shape(1);
  if (rule.attributes.flag("transpose_a")) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (rule.attributes.flag("transpose_b")) std::swap(b[b.size() - 1], b[b.size() - 2]);
  const std::int64_t rows = a[a.size() - 2], columns = b.back();
  if (a.back() != b[b.size() - 2]) {
    return rule.wrong(1, std::to_string(a.back()) +
                             " numbers in the dimension that is summed, as " + rule.name(0) + " " +
                             to_string(rule[0]) + " has");
  }
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  auto shape = broadcast_shape(a, b);
  HOCKET_TRY(shape);
  shape->push_back(rows);
  shape->push_back(columns);
  return with_epilogue(rule, with_shape(rule[0], std::move(*shape)), {rows});
}

}  // namespace hocket
