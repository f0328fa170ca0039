#include "core/graph/graph_builder.h"

#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Type of values that an error has left without one.
const ValueType& no_type() {
  static const ValueType type{NumberType::float32, Shape(kMostDimensions, 1)};
  return type;
}

}  // namespace

ValueType Value::type() const {
  return builder_->has_failed() ? no_type() : builder_->graph().type(id_);
}

std::int64_t Value::size(std::int64_t dimension) const {
  const auto rank = static_cast<std::int64_t>(shape().size());
  if (dimension >= -rank && dimension < rank)
    return shape()[dimension_at(dimension, shape().size())];
  builder_->fail(
      {ErrorCode::invalid_argument,
       "there is no dimension " + std::to_string(dimension) + " of " + to_string(type())});
  return 1;
}

GraphBuilder::Region::Region(GraphBuilder& builder, std::string present)
    : builder_(builder), outer_(std::exchange(builder.region_, std::move(present))) {
  if (builder.region_.empty()) return;
  if (auto ok = check_graph_name(builder.region_); !ok) builder.fail(ok.error().in("region"));
}

GraphBuilder::Region GraphBuilder::region(std::string_view name) {
  return Region(*this, region_.empty() ? std::string(name) : region_ + "." + std::string(name));
}

Value GraphBuilder::added(const Result<ValueId>& value) {
  if (value) return {*this, *value};
  fail(value.error());
  return {*this, {}};
}

Value GraphBuilder::input(std::string name, const ValueType& type) {
  if (has_failed()) return {*this, {}};
  return added(graph_.add_input(std::move(name), type, region_));
}

Value GraphBuilder::parameter(std::string_view name, Shape shape, NumberType numbers) {
  const std::string full = region_.empty() ? std::string(name) : region_ + "." + std::string(name);
  return named_parameter(full, {numbers, std::move(shape)});
}

Value GraphBuilder::named_parameter(std::string full_name, const ValueType& type) {
  if (has_failed()) return {*this, {}};
  return added(graph_.add_parameter(std::move(full_name), type, region_));
}

Value GraphBuilder::constant(double value, const ValueType& type) {
  if (has_failed()) return {*this, {}};
  return added(graph_.add_constant(value, type, region_));
}

Value GraphBuilder::leaf_like(const Operation& leaf, const ValueType& type) {
  if (leaf.kind == OperationKind::constant) return constant(leaf.attributes.number("value"), type);
  if (leaf.kind == OperationKind::input) return input(leaf.name, type);
  return named_parameter(leaf.name, type);
}

std::vector<Value> GraphBuilder::add_all(OperationKind kind, const std::vector<Value>& operands,
                                         const Attributes& attributes) {
  const Value first = add(kind, operands, attributes);
  std::vector<Value> results;
  const std::size_t count = result_count(kind, attributes);
  for (std::uint32_t i = 0; i < count; ++i)
    results.push_back({*this, {has_failed() ? 0 : first.id().index + i}});
  return results;
}

Value GraphBuilder::add(OperationKind kind, const std::vector<Value>& operands,
                        const Attributes& attributes) {
  if (has_failed()) return {*this, {}};
  std::vector<ValueId> ids;
  for (const Value& operand : operands) {
    HOCKET_CHECK(&operand.builder() == this, "operands are values of one graph");
    ids.push_back(operand.id());
  }
  return added(graph_.add(kind, std::move(ids), attributes, region_));
}

void GraphBuilder::output(std::string name, Value value) {
  if (has_failed()) return;
  if (auto ok = graph_.add_output(std::move(name), value.id()); !ok) fail(ok.error());
}

void GraphBuilder::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<Graph> GraphBuilder::build() {
  if (error_) return failure(*error_);
  return std::move(graph_);
}

}  // namespace hocket
