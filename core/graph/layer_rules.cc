// Normalisation, attention, tables, losses, experts and updates.

#include <algorithm>

#include "core/graph/shape_rule.h"

namespace hocket {
namespace {

/// Statistics of rows are float32, whatever the rows are.
ValueType row_statistic(const Shape& shape) {
  return {NumberType::float32, with_innermost(shape, 1)};
}

ValueType innermost(const ValueType& type) {
  return with_shape(type, {type.shape.back()});
}

}  // namespace

Result<ResultTypes> layer_norm_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 1));
  HOCKET_TRY(rule.is(1, innermost(rule[0])));
  HOCKET_TRY(rule.is(2, innermost(rule[0])));
  return ResultTypes{rule[0], row_statistic(rule.shape(0)), row_statistic(rule.shape(0))};
}

Result<ResultTypes> layer_norm_gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 1));
  HOCKET_TRY(rule.is(1, innermost(rule[0])));
  HOCKET_TRY(rule.is(2, row_statistic(rule.shape(0))));
  HOCKET_TRY(rule.is(3, row_statistic(rule.shape(0))));
  HOCKET_TRY(rule.is(4, rule[0]));
  if (const auto residual = rule.place("residual")) HOCKET_TRY(rule.is(*residual, rule[0]));
  return ResultTypes{rule[0], rule[1], rule[1]};
}

Result<ResultTypes> rms_norm_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 1));
  HOCKET_TRY(rule.is(1, innermost(rule[0])));
  return ResultTypes{rule[0], row_statistic(rule.shape(0))};
}

Result<ResultTypes> rms_norm_gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 1));
  HOCKET_TRY(rule.is(1, innermost(rule[0])));
  HOCKET_TRY(rule.is(2, row_statistic(rule.shape(0))));
  HOCKET_TRY(rule.is(3, rule[0]));
  if (const auto residual = rule.place("residual")) HOCKET_TRY(rule.is(*residual, rule[0]));
  return ResultTypes{rule[0], rule[1]};
}

Result<ResultTypes> softmax_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 1));
  return ResultTypes{rule[0]};
}

namespace {

/// Checks queries [batch, heads, rows, width] with keys and values [batch, groups, columns, width],
/// of which each group serves as many heads. Values may have a width of their own.
Result<void> check_attention(const ShapeRule& rule) {
  for (std::size_t i = 0; i < 3; ++i) {
    HOCKET_TRY(rule.floating(i));
    HOCKET_TRY(rule.numbers(i, rule[0].numbers));
    if (rule.rank(i) != 4) return rule.wrong(i, "[batch, heads, positions, width]");
  }
  const Shape &queries = rule.shape(0), &keys = rule.shape(1), &values = rule.shape(2);
  if (keys[0] != queries[0] || keys[3] != queries[3]) {
    return rule.wrong(1, "a batch of " + std::to_string(queries[0]) + " and a width of " +
                             std::to_string(queries[3]) + " as queries have");
  }
  if (queries[1] % keys[1] != 0)
    return rule.wrong(
        1, "a number of heads that divides the " + std::to_string(queries[1]) + " of queries");
  if (!std::equal(values.begin(), values.begin() + 3, keys.begin()))
    return rule.wrong(2, "batch, heads and positions of keys, " + to_string(rule[1]));
  if (rule.attributes.flag("causal") && keys[2] < queries[2])
    return rule.wrong(1, "at least the " + std::to_string(queries[2]) + " positions of queries");
  return {};
}

ValueType attention_result(const ShapeRule& rule) {
  return with_shape(rule[0], with_innermost(rule.shape(0), rule.shape(2)[3]));
}

ValueType attention_sums(const ShapeRule& rule) {
  const Shape& queries = rule.shape(0);
  return {NumberType::float32, {queries[0], queries[1], queries[2]}};
}

}  // namespace

Result<ResultTypes> attention_rule(const ShapeRule& rule) {
  HOCKET_TRY(check_attention(rule));
  return ResultTypes{attention_result(rule), attention_sums(rule)};
}

Result<ResultTypes> attention_gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(check_attention(rule));
  HOCKET_TRY(rule.is(3, attention_result(rule)));
  HOCKET_TRY(rule.is(4, attention_sums(rule)));
  HOCKET_TRY(rule.is(5, attention_result(rule)));
  return ResultTypes{rule[0], rule[1], rule[2]};
}

Result<ResultTypes> rotary_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 2));
  if (rule.shape(0).back() % 2 != 0) return rule.wrong(0, "an even innermost size");
  return ResultTypes{rule[0]};
}

Result<ResultTypes> embedding_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  if (rule.rank(0) != 2) return rule.wrong(0, "[rows, width]");
  HOCKET_TRY(rule.numbers(1, NumberType::int32));
  Shape shape = rule.shape(1);
  shape.push_back(rule.shape(0)[1]);
  return ResultTypes{with_shape(rule[0], std::move(shape))};
}

Result<ResultTypes> embedding_gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.numbers(0, NumberType::int32));
  HOCKET_TRY(rule.floating(1));
  HOCKET_TRY(rule.rank_from(1, 1));
  Shape rows = rule.shape(0);
  rows.push_back(rule.shape(1).back());
  HOCKET_TRY(rule.is(1, with_shape(rule[1], rows)));
  return ResultTypes{with_shape(rule[1], {rule.attributes.integer("rows"), rows.back()})};
}

namespace {

/// Returns the shape of one number for each row of logits.
Result<Shape> check_logits(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 1));
  Shape rows = rule.shape(0);
  rows.pop_back();
  HOCKET_TRY(rule.is(1, {NumberType::int32, rows}));
  return rows;
}

}  // namespace

Result<ResultTypes> cross_entropy_rule(const ShapeRule& rule) {
  const auto rows = check_logits(rule);
  HOCKET_TRY(rows);
  const ValueType losses{NumberType::float32, *rows};
  return ResultTypes{losses, losses};
}

Result<ResultTypes> cross_entropy_gradient_rule(const ShapeRule& rule) {
  const auto rows = check_logits(rule);
  HOCKET_TRY(rows);
  HOCKET_TRY(rule.is(2, {NumberType::float32, *rows}));
  HOCKET_TRY(rule.is(3, {NumberType::float32, *rows}));
  return ResultTypes{rule[0]};
}

Result<ResultTypes> exponential_sum_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 1));
  Shape rows = rule.shape(0);
  rows.pop_back();
  const ValueType sums{NumberType::float32, rows};
  HOCKET_TRY(rule.is(1, sums));
  return ResultTypes{sums};
}

Result<ResultTypes> pick_rule(const ShapeRule& rule) {
  const auto rows = check_logits(rule);
  HOCKET_TRY(rows);
  return ResultTypes{{NumberType::float32, *rows}};
}

Result<ResultTypes> communication_rule(const ShapeRule& rule, OperationKind kind) {
  const std::int64_t ranks = rule.attributes.integer("ranks");
  const bool is_sum = kind == OperationKind::all_reduce || kind == OperationKind::reduce_scatter;
  if (is_sum) HOCKET_TRY(rule.floating(0));
  if (kind == OperationKind::all_reduce) return ResultTypes{rule[0]};
  HOCKET_TRY(rule.rank_from(0, 1));
  Shape shape = rule.shape(0);
  if (kind == OperationKind::all_gather) {
    if (shape[0] > kMostNumbers / ranks) return rule.wrong(0, "fewer numbers for so many ranks");
    shape[0] *= ranks;
  } else {
    if (shape[0] % ranks != 0)
      return rule.wrong(0, "an outermost size that is a multiple of " + std::to_string(ranks));
    if (kind == OperationKind::reduce_scatter) shape[0] /= ranks;
  }
  return ResultTypes{with_shape(rule[0], std::move(shape))};
}

Result<ResultTypes> top_k_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  HOCKET_TRY(rule.rank_from(0, 1));
  const std::int64_t count = rule.attributes.integer("count");
  if (count > rule.shape(0).back())
    return rule.wrong(0,
                      "at least " + std::to_string(count) + " numbers in the innermost dimension");
  const Shape shape = with_innermost(rule.shape(0), count);
  return ResultTypes{with_shape(rule[0], shape), {NumberType::int32, shape}};
}

Result<ResultTypes> top_k_gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.numbers(0, NumberType::int32));
  HOCKET_TRY(rule.floating(1));
  HOCKET_TRY(rule.rank_from(1, 1));
  HOCKET_TRY(rule.is(1, with_shape(rule[1], rule.shape(0))));
  return ResultTypes{
      with_shape(rule[1], with_innermost(rule.shape(1), rule.attributes.integer("size")))};
}

namespace {

/// Checks choices of experts: int32 [rows, choices].
Result<void> check_choices(const ShapeRule& rule, std::size_t i) {
  if (rule[i].numbers != NumberType::int32 || rule.rank(i) != 2)
    return rule.wrong(i, "int32 [rows, choices]");
  return {};
}

Result<void> check_slots(const ShapeRule& rule, std::size_t i) {
  HOCKET_TRY(rule.floating(i));
  if (rule.rank(i) != 3) return rule.wrong(i, "[experts, capacity, width]");
  return {};
}

}  // namespace

Result<ResultTypes> dispatch_rule(const ShapeRule& rule) {
  HOCKET_TRY(rule.floating(0));
  if (rule.rank(0) != 2) return rule.wrong(0, "[rows, width]");
  HOCKET_TRY(check_choices(rule, 1));
  if (rule.shape(1)[0] != rule.shape(0)[0])
    return rule.wrong(1, "choices for " + std::to_string(rule.shape(0)[0]) + " rows");
  const std::int64_t experts = rule.attributes.integer("expert_count");
  return ResultTypes{
      with_shape(rule[0], {experts, rule.attributes.integer("capacity"), rule.shape(0)[1]}),
      rule[1]};
}

Result<ResultTypes> dispatch_gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(check_choices(rule, 0));
  HOCKET_TRY(rule.is(1, rule[0]));
  HOCKET_TRY(check_slots(rule, 2));
  return ResultTypes{with_shape(rule[2], {rule.shape(0)[0], rule.shape(2)[2]})};
}

namespace {

Result<void> check_combine(const ShapeRule& rule) {
  HOCKET_TRY(check_slots(rule, 0));
  HOCKET_TRY(check_choices(rule, 1));
  HOCKET_TRY(rule.is(2, rule[1]));
  return rule.is(3, with_shape(rule[0], rule.shape(1)));
}

}  // namespace

Result<ResultTypes> combine_rule(const ShapeRule& rule) {
  HOCKET_TRY(check_combine(rule));
  return ResultTypes{with_shape(rule[0], {rule.shape(1)[0], rule.shape(0)[2]})};
}

Result<ResultTypes> combine_gradient_rule(const ShapeRule& rule) {
  HOCKET_TRY(check_combine(rule));
  HOCKET_TRY(rule.is(4, with_shape(rule[0], {rule.shape(1)[0], rule.shape(0)[2]})));
  return ResultTypes{rule[0], rule[3]};
}

namespace {

/// The rate of an update, and the number of the step, are values: they change while a job trains.
Result<void> check_update(const ShapeRule& rule, std::size_t rate) {
  HOCKET_TRY(rule.floating(0));
  for (std::size_t i = 1; i < rate; ++i) HOCKET_TRY(rule.is(i, rule[0]));
  return rule.is(rate, {NumberType::float32, {}});
}

}  // namespace

Result<ResultTypes> adamw_rule(const ShapeRule& rule) {
  HOCKET_TRY(check_update(rule, 4));
  HOCKET_TRY(rule.is(5, {NumberType::int32, {}}));
  // The moments are divided by 1 less a power of these.
  for (const std::string_view beta : {"beta1", "beta2"})
    if (rule.attributes.number(beta) >= 1) return rule.wrong(beta, "expected less than 1");
  return ResultTypes{rule[0], rule[2], rule[3]};
}

Result<ResultTypes> sgd_rule(const ShapeRule& rule) {
  HOCKET_TRY(check_update(rule, 3));
  return ResultTypes{rule[0], rule[2]};
}

}  // namespace hocket
