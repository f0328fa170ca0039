#pragma once

// Copies a graph into another, operation by operation, so that a pass states only what it changes.
// Private to core/graph. One thread.

#include <optional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/graph/graph_builder.h"

namespace hocket {

class GraphCopy {
 public:
  explicit GraphCopy(const Graph& from) : from_(from), copies_(from.values()) {}

  const Graph& from() const { return from_; }
  GraphBuilder& to() { return to_; }

  bool has(ValueId value) const { return copies_[value.index].has_value(); }
  /// Returns what stands for a value of the first graph. Requires that there is something.
  Value at(ValueId value) {
    HOCKET_CHECK(has(value), "a value that is copied");
    return to_.value(*copies_[value.index]);
  }
  void set(ValueId value, Value copy) { copies_[value.index] = copy.id(); }

  std::vector<Value> operands_of(const Operation& operation) {
    std::vector<Value> operands;
    for (const ValueId operand : operation.operands) operands.push_back(at(operand));
    return operands;
  }

  /// Copies an operation, on what its operands are now.
  void copy(const Operation& operation) {
    copy(operation, operation.region, operands_of(operation));
  }
  /// Copies it into another region, with other operands.
  void copy(const Operation& operation, const std::string& region,
            const std::vector<Value>& operands) {
    copy(operation, region, operands, operation.attributes);
  }
  void copy(const Operation& operation, const std::string& region,
            const std::vector<Value>& operands, const Attributes& attributes) {
    const auto in = to_.at(region);
    if (operation.kind <= OperationKind::constant) {
      set(operation.first_result, to_.leaf_like(operation, from_.type(operation.first_result)));
      return;
    }
    const std::vector<Value> results = to_.add_all(operation.kind, operands, attributes);
    for (std::size_t i = 0; i < results.size(); ++i) set(from_.result(operation, i), results[i]);
  }

  void copy_outputs() {
    for (const GraphOutput& output : from_.outputs()) to_.output(output.name, at(output.value));
  }

  Result<Graph> take() { return to_.build(); }

 private:
  const Graph& from_;
  GraphBuilder to_;
  std::vector<std::optional<ValueId>> copies_;  ///< by value of from_
};

}  // namespace hocket
