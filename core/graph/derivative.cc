#include "core/graph/derivative.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/graph/derivative_rules.h"
#include "core/graph/maths.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

constexpr std::size_t kShownOutputBytes = 60;

tl::unexpected<Error> wrong_output(std::string_view name, const std::string& what) {
  return failure(ErrorCode::invalid_argument,
                 "derivative: \"" + printable(name, kShownOutputBytes) + "\" " + what);
}

/// Returns for each value whether it depends on one of `leaves` by floating-point numbers.
std::vector<bool> dependents(const Graph& graph, const std::vector<ValueId>& leaves) {
  std::vector<bool> depends(graph.values());
  for (const ValueId leaf : leaves) depends[leaf.index] = true;
  for (const Operation& operation : graph.operations()) {
    const bool any = std::ranges::any_of(operation.operands,
                                         [&](ValueId operand) { return depends[operand.index]; });
    if (!any) continue;
    for (std::size_t i = 0; i < graph.results(operation); ++i) {
      const ValueId result = graph.result(operation, i);
      if (is_floating(graph.type(result).numbers)) depends[result.index] = true;
    }
  }
  return depends;
}

class Derivative {
 public:
  Derivative(const Graph& graph, const std::vector<ValueId>& leaves, std::optional<ValueId> scale)
      : graph_(graph),
        builder_(graph),
        scale_(scale),
        depends_(dependents(graph, leaves)),
        gradients_(graph.values()) {}

  /// Adds the gradients of all values on which `output` depends.
  Result<void> add_all(ValueId output) {
    if (!depends_[output.index]) return {};
    {
      const auto region = backward_of(graph_.operations()[graph_.producer(output)]);
      const ValueType& type = graph_.type(output);
      gradients_[output.index] =
          (scale_ ? broadcast(scale_as(type.numbers), type.shape) : builder_.constant(1, type))
              .id();
    }
    for (std::size_t i = graph_.producer(output) + 1; i-- > 0;)
      HOCKET_TRY(add_of(graph_.operations()[i]));
    return {};
  }

  void add_output(const std::string& name, ValueId leaf) {
    const auto region = backward_of(graph_.operations()[graph_.producer(leaf)]);
    const ValueType& type = graph_.type(leaf);
    const auto& found = gradients_[leaf.index];
    Value gradient = found ? builder_.value(*found) : builder_.constant(0, type);
    if (found && scale_) gradient = gradient / scale_as(type.numbers);
    builder_.output(gradient_name(name), gradient);
  }

  Result<Graph> take() { return builder_.build(); }

 private:
  GraphBuilder::Region backward_of(const Operation& operation) {
    return builder_.at(operation.region + std::string(kBackward));
  }

  Value scale_as(NumberType type) {
    const Value scale = builder_.value(*scale_);
    return type == NumberType::float32 ? scale : convert(scale, type);
  }

  Result<void> add_of(const Operation& operation) {
    const auto results = result_names(operation.kind, operation.attributes);
    const bool depends = std::ranges::any_of(
        operation.operands, [&](ValueId operand) { return depends_[operand.index]; });
    if (!depends) return {};
    const auto in = [&](const Error& error) { return failure(error.in(words_of(operation))); };
    for (std::size_t i = 1; i < results.size(); ++i) {
      if (gradients_[graph_.result(operation, i).index])
        return in({ErrorCode::invalid_argument,
                   "its result \"" + std::string(results[i]) + "\" has no derivative"});
    }
    const auto& gradient = gradients_[operation.first_result.index];
    if (!gradient) return {};
    if (is_of_one_rank(operation.kind, operation.attributes))
      return in({ErrorCode::invalid_argument,
                 "it is of the program of one rank; differentiate the model before"});
    const auto region = backward_of(operation);
    const DifferentiatedOperation of{
        .builder = builder_,
        .operation = operation,
        .dy = builder_.value(*gradient),
        .wants = [&](std::size_t i) { return depends_[operation.operands[i].index]; },
        .give = [&](std::size_t i, Value value) { give(operation.operands[i], value); }};
    if (auto ok = add_derivative(of); !ok) return in(ok.error());
    return {};
  }

  void give(ValueId operand, Value gradient) {
    auto& all = gradients_[operand.index];
    all = all ? (builder_.value(*all) + gradient).id() : gradient.id();
  }

  const Graph& graph_;
  GraphBuilder builder_;
  const std::optional<ValueId> scale_;
  const std::vector<bool> depends_;
  std::vector<std::optional<ValueId>> gradients_;  // by value of graph_
};

}  // namespace

std::string gradient_name(std::string_view name) {
  return "gradient/" + std::string(name);
}

Result<Graph> differentiate(const Graph& graph, const DerivativeOptions& options) {
  const auto output = graph.output(options.output);
  if (!output) return wrong_output(options.output, "is no output of the graph");
  const ValueType& type = graph.type(*output);
  if (type.count() != 1 || !is_floating(type.numbers))
    return wrong_output(options.output, "is " + to_string(type) + ", expected a single number");
  std::optional<ValueId> scale;
  if (!options.scale.empty()) {
    scale = graph.leaf(options.scale);
    if (!scale || graph.type(*scale) != ValueType{NumberType::float32, {}})
      return wrong_output(options.scale, "is no float32[] of the graph by which to scale");
  }
  std::vector<std::string> names = options.by;
  if (names.empty()) {
    for (const Operation& operation : graph.operations())
      if (operation.kind == OperationKind::parameter && operation.name != options.scale)
        names.push_back(operation.name);
  }
  std::vector<ValueId> leaves;
  for (const std::string& name : names) {
    const auto leaf = graph.leaf(name);
    if (!leaf) return wrong_output(name, "is no input or parameter of the graph");
    if (!is_floating(graph.type(*leaf).numbers))
      return wrong_output(
          name, "is " + to_string(graph.type(*leaf)) + ", expected floating-point numbers");
    leaves.push_back(*leaf);
  }
  Derivative derivative(graph, leaves, scale);
  HOCKET_TRY(derivative.add_all(*output));
  for (std::size_t i = 0; i < names.size(); ++i) derivative.add_output(names[i], leaves[i]);
  return derivative.take();
}

}  // namespace hocket
