#pragma once

// A program as pure maths: values, and the operations that make them. A graph says nothing of
// devices, ranks, streams or memory; passes (core/graph/passes.h) turn it into other graphs.
//
// Invariants:
//  1. the operands of an operation are results of operations before it, so the order of operations
//     is one in which they can be carried out;
//  2. values are numbered in the order of the operations that make them;
//  3. the types of results are those of result_types(), and attributes are complete;
//  4. inputs and parameters have names, each its own; so have outputs.
//
// A plain value: one thread changes it, any may read it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/operation.h"
#include "core/graph/value_type.h"

namespace hocket {

/// Number of a value in its graph.
struct ValueId {
  std::uint32_t index = 0;

  auto operator<=>(const ValueId&) const = default;
};

/// An operation of a graph.
struct Operation {
  OperationKind kind = OperationKind::input;
  std::vector<ValueId> operands = {};
  Attributes attributes = {};
  /// Results are numbered from here on; there are as many as the declaration has.
  ValueId first_result = {};
  /// The region that the operation belongs to, "block3.attention", or "". Signals name regions.
  std::string region = {};
  /// Name of an input or a parameter; empty for others.
  std::string name = {};

  bool operator==(const Operation&) const = default;
};

/// Returns how messages name an operation: "matmul in block0.mlp", "input \"tokens\"".
std::string words_of(OperationKind kind, std::string_view region, std::string_view name = {});
inline std::string words_of(const Operation& operation) {
  return words_of(operation.kind, operation.region, operation.name);
}

/// A value that the graph is for, such as a loss.
struct GraphOutput {
  std::string name;
  ValueId value;

  bool operator==(const GraphOutput&) const = default;
};

/// Limits of a graph, and on a name, which is of letters, digits, "_", "-", "." and "/".
inline constexpr std::size_t kMostOperations = 1 << 20;
inline constexpr std::size_t kMostNameBytes = 200;

/// invalid_argument for text that cannot be a name of a value or a region.
Result<void> check_graph_name(std::string_view name);

class Graph {
 public:
  /// Adds an input or a parameter and returns its value. invalid_argument for a shape that is none
  /// or a name that is taken.
  Result<ValueId> add_input(std::string name, const ValueType& type, std::string region = {});
  Result<ValueId> add_parameter(std::string name, const ValueType& type, std::string region = {});
  Result<ValueId> add_constant(double value, const ValueType& type, std::string region = {});

  /// Adds an operation and returns its first result. Requires operands of this graph. The error
  /// names the operation and its region: "attention in block3.attention: keys: expected …".
  Result<ValueId> add(OperationKind kind, std::vector<ValueId> operands,
                      const Attributes& attributes = {}, std::string region = {});

  /// Makes a value an output.
  Result<void> add_output(std::string name, ValueId value);

  std::span<const Operation> operations() const { return operations_; }
  std::span<const GraphOutput> outputs() const { return outputs_; }
  std::size_t values() const { return types_.size(); }

  /// Valid until something is added.
  const ValueType& type(ValueId value) const { return types_[value.index]; }
  /// Returns the index of the operation that makes a value.
  std::size_t producer(ValueId value) const { return producers_[value.index]; }
  std::size_t results(const Operation& operation) const {
    return result_count(operation.kind, operation.attributes);
  }
  /// Returns a result of an operation.
  ValueId result(const Operation& operation, std::size_t index = 0) const {
    return {operation.first_result.index + static_cast<std::uint32_t>(index)};
  }
  /// Returns the input or parameter of this name.
  std::optional<ValueId> leaf(std::string_view name) const;
  std::optional<ValueId> output(std::string_view name) const;

  bool operator==(const Graph& other) const {
    return operations_ == other.operations_ && types_ == other.types_ && outputs_ == other.outputs_;
  }

 private:
  Result<ValueId> add_leaf(OperationKind kind, std::string name, const ValueType& type,
                           const Attributes& attributes, std::string region);
  ValueId append(Operation operation, std::vector<ValueType> types);

  std::vector<Operation> operations_;
  std::vector<ValueType> types_;          ///< by value
  std::vector<std::uint32_t> producers_;  ///< by value
  std::vector<GraphOutput> outputs_;
  std::map<std::string, ValueId, std::less<>> leaves_;  ///< inputs and parameters by name
  std::map<std::string, ValueId, std::less<>> values_of_outputs_;  ///< by name
};

}  // namespace hocket
