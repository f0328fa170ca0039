#include "job/graph/gradient_groups.h"

#include <algorithm>

#include "core/graph/derivative.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

/// Returns the operation that updates `parameter` with `gradient`; the number of operations where
/// there is none.
std::size_t update_of(const Graph& graph, ValueId parameter, ValueId gradient) {
  for (std::size_t i = 0; i < graph.operations().size(); ++i) {
    const Operation& operation = graph.operations()[i];
    if (is_update(operation) && operation.operands[0] == parameter &&
        operation.operands[1] == gradient)
      return i;
  }
  return graph.operations().size();
}

}  // namespace

bool is_update(const Operation& operation) {
  return operation.kind == OperationKind::adamw || operation.kind == OperationKind::sgd;
}

std::int64_t GradientGroup::bytes(const Graph& graph) const {
  std::int64_t bytes = 0;
  for (const ValueId gradient : gradients) bytes += graph.type(gradient).bytes();
  return bytes;
}

std::vector<TensorSpec> gradient_groups(const Graph& graph) {
  std::vector<TensorSpec> groups;
  for (const Operation& operation : graph.operations()) {
    if (operation.kind != OperationKind::parameter || is_optimiser_state(operation.name)) continue;
    const std::string name = part_of_model(operation.region);
    auto group = std::ranges::find(groups, name, &TensorSpec::name);
    if (group == groups.end()) group = groups.insert(groups.end(), {name, 0});
    group->bytes += graph.type(operation.first_result).bytes();
  }
  return groups;
}

Result<std::vector<GradientGroup>> find_gradient_groups(const Graph& graph) {
  std::vector<GradientGroup> groups;
  for (const GraphOutput& output : graph.outputs()) {
    if (!output.name.starts_with(gradient_name(""))) continue;
    const auto parameter = graph.leaf(output.name.substr(gradient_name("").size()));
    if (!parameter) continue;
    const ValueType& type = graph.type(output.value);
    if (type.numbers != NumberType::float32) {
      return failure(ErrorCode::invalid_argument, "output \"" + output.name + "\" is " +
                                                      to_string(type) +
                                                      "; ranks sum gradients of float32 alone");
    }
    const std::string name = part_of_model(graph.operations()[graph.producer(*parameter)].region);
    auto group = std::ranges::find(groups, name, &GradientGroup::name);
    if (group == groups.end()) group = groups.insert(groups.end(), GradientGroup{.name = name});
    group->parameters.push_back(*parameter);
    group->gradients.push_back(output.value);
    group->updates.push_back(update_of(graph, *parameter, output.value));
  }
  if (!groups.empty()) return groups;
  return failure(
      ErrorCode::invalid_argument,
      "no gradient is an output, which ranks would sum; give the optimiser as many ranks");
}

Result<void> check_updates(const Graph& graph, const std::vector<GradientGroup>& groups) {
  for (const GradientGroup& group : groups) {
    if (std::ranges::find(group.updates, graph.operations().size()) == group.updates.end())
      continue;
    return failure(ErrorCode::invalid_argument,
                   "gradients of " + group.name +
                       " are changed before they reach the optimiser, which needs all of them on "
                       "each rank and on the device; train without clipping and without float16");
  }
  return {};
}

std::vector<UpdatedPart> own_parts(const Graph& graph, const std::vector<GradientGroup>& groups,
                                   const RankGrid& grid, int rank) {
  constexpr auto kNumber = static_cast<std::int64_t>(sizeof(float));
  std::vector<UpdatedPart> parts;
  for (const GradientGroup& group : groups) {
    const BlockRange own = block_range(group.bytes(graph), grid, rank);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < group.gradients.size(); ++i) {
      const std::int64_t bytes = graph.type(group.gradients[i]).bytes();
      const std::int64_t begin = std::clamp(own.begin, offset, offset + bytes);
      const std::int64_t end = std::clamp(own.end, offset, offset + bytes);
      parts.push_back({.operation = group.updates[i],
                       .begin = (begin - offset) / kNumber,
                       .count = (end - begin) / kNumber});
      offset += bytes;
    }
  }
  return parts;
}

}  // namespace hocket
