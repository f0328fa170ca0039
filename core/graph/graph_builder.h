#pragma once

// Builds a graph from code that reads like maths (core/graph/maths.h). The first error is kept, and
// nothing is added after it, so that a model need not check each operation: build() returns it.
// One thread.
//
//   GraphBuilder model;
//   Value x = model.input("x", {NumberType::float32, {32, 784}});
//   {
//     const auto region = model.region("layer0");
//     x = relu(matmul(x, model.parameter("weight", {784, 256})));   // "layer0.weight"
//   }
//   model.output("y", x);
//   Result<Graph> graph = model.build();

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

class GraphBuilder;

/// A value of a graph that is being built. Valid while its builder is.
class Value {
 public:
  Value(GraphBuilder& builder, ValueId id) : builder_(&builder), id_(id) {}

  GraphBuilder& builder() const { return *builder_; }
  ValueId id() const { return id_; }
  /// After an error the type has no meaning, but as many dimensions as any value can have.
  ValueType type() const;
  Shape shape() const { return type().shape; }
  /// Returns the size of a dimension, −1 being the innermost. Keeps an error if there is none, and
  /// returns 1.
  std::int64_t size(std::int64_t dimension) const;

 private:
  GraphBuilder* builder_;
  ValueId id_;
};

class GraphBuilder {
 public:
  GraphBuilder() = default;
  /// Continues a graph.
  explicit GraphBuilder(Graph graph) : graph_(std::move(graph)) {}
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  /// A part of the model, within the one around it, while this object lives.
  class [[nodiscard]] Region {
   public:
    ~Region() { builder_.region_ = outer_; }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

   private:
    friend class GraphBuilder;
    Region(GraphBuilder& builder, std::string present);

    GraphBuilder& builder_;
    const std::string outer_;
  };
  Region region(std::string_view name);
  /// Does the same for a region by its full name; "" is that of none.
  Region at(std::string_view full_name) { return Region(*this, std::string(full_name)); }
  const std::string& present_region() const { return region_; }

  Value input(std::string name, const ValueType& type);
  /// The parameter's name is that of the region, ".", and `name`.
  Value parameter(std::string_view name, Shape shape, NumberType numbers = NumberType::float32);
  /// Does the same for a parameter by its full name.
  Value named_parameter(std::string full_name, const ValueType& type);
  Value constant(double value, const ValueType& type = {});

  /// Adds an input, a parameter or a constant like one of another graph, of this type.
  Value leaf_like(const Operation& leaf, const ValueType& type);

  /// Adds an operation and returns its results.
  std::vector<Value> add_all(OperationKind kind, const std::vector<Value>& operands,
                             const Attributes& attributes = {});
  /// Does the same, and returns the first result.
  Value add(OperationKind kind, const std::vector<Value>& operands,
            const Attributes& attributes = {});

  void output(std::string name, Value value);

  /// Keeps an error of the model's own.
  void fail(Error error);
  bool has_failed() const { return error_.has_value(); }

  Value value(ValueId id) { return {*this, id}; }
  const Graph& graph() const { return graph_; }
  /// Returns the graph, or the first error. The builder must not be used afterwards.
  Result<Graph> build();

 private:
  Value added(const Result<ValueId>& value);

  Graph graph_;
  std::string region_;
  std::optional<Error> error_;
};

}  // namespace hocket
