#include "models/layers.h"

namespace hocket {

Value dense(Value x, std::string_view name, std::int64_t outputs) {
  const Value y = dense_without_bias(x, name, outputs);
  return y + x.builder().parameter(std::string(name) + ".bias", {outputs});
}

Value dense_without_bias(Value x, std::string_view name, std::int64_t outputs) {
  const Value weight = x.builder().parameter(std::string(name) + ".weight", {outputs, x.size(-1)});
  return matmul(x, weight, {.b = true});
}

Value scaled_norm(Value x, double epsilon) {
  return rms_norm(x, x.builder().parameter("norm.weight", {x.size(-1)}), epsilon);
}

Value split_heads(Value x, std::int64_t heads) {
  const Value split = reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads});
  return transpose(split, {0, 2, 1, 3});
}

Value merge_heads(Value x) {
  const Value rows = transpose(x, {0, 2, 1, 3});
  return reshape(rows, {rows.size(0), rows.size(1), rows.size(2) * rows.size(3)});
}

Value grouped_attention(Value x, const GroupedAttention& options) {
  const std::int64_t width = x.size(-1);
  const std::int64_t group_width = width / options.heads * options.groups;
  const Value queries = split_heads(dense_without_bias(x, "query", width), options.heads);
  const Value keys = split_heads(dense_without_bias(x, "key", group_width), options.groups);
  const Value values = split_heads(dense_without_bias(x, "value", group_width), options.groups);
  const Value turned_queries = rotary(queries, options.rotary_base);
  const Value turned_keys = rotary(keys, options.rotary_base);
  const Value seen = attention(turned_queries, turned_keys, values, {.causal = true});
  return dense_without_bias(merge_heads(seen), "out", width);
}

TokenInputs token_inputs(GraphBuilder& model, std::int64_t batch, std::int64_t sequence) {
  const ValueType type{NumberType::int32, {batch, sequence}};
  const Value tokens = model.input("tokens", type);
  return {tokens, model.input("targets", type)};
}

Value mean_loss(Value logits, Value targets) {
  return mean(cross_entropy(logits, targets));
}

std::string block_name(std::int64_t index) {
  return "block" + std::to_string(index);
}

Result<void> check_multiple(std::string_view whole_name, std::int64_t whole,
                            std::string_view part_name, std::int64_t part) {
  if (whole % part == 0) return {};
  return invalid(std::string(whole_name) + ": " + std::to_string(whole) + " is no multiple of " +
                 std::to_string(part) + ", the " + std::string(part_name) + "; give one, such as " +
                 std::to_string((whole / part + 1) * part));
}

Result<void> check_heads(std::int64_t width, std::int64_t heads, std::int64_t groups) {
  HOCKET_TRY(check_multiple("heads", heads, "groups", groups));
  return check_multiple("width", width, "heads times two (heads are turned by pairs of numbers)",
                        2 * heads);
}

}  // namespace hocket
