#include "core/graph/passes/graph_editor.h"

#include <algorithm>
#include <utility>

#include "core/graph/graph_builder.h"

namespace hocket {

GraphEditor::GraphEditor(const Graph& graph)
    : graph_(graph),
      producers_(graph.values()),
      users_(graph.values()),
      is_output_(graph.values()) {
  for (const Operation& operation : graph.operations()) {
    Node node{operation.kind,   operation.operands, operation.attributes, {},
              operation.region, operation.name};
    for (std::size_t i = 0; i < graph.results(operation); ++i) {
      node.results.push_back(graph.result(operation, i));
      producers_[node.results.back().index] = nodes_.size();
    }
    for (const ValueId operand : node.operands) users_[operand.index].push_back(nodes_.size());
    nodes_.push_back(std::move(node));
  }
  for (const GraphOutput& output : graph.outputs()) is_output_[output.value.index] = true;
}

bool GraphEditor::fits(std::size_t place, std::span<const std::size_t> members,
                       const Node& joined) const {
  const bool has_operands = std::ranges::all_of(
      joined.operands, [&](ValueId operand) { return producer(operand) < place; });
  return has_operands && std::ranges::all_of(joined.results, [&](ValueId result) {
           return std::ranges::all_of(users(result), [&](std::size_t user) {
             return user > place || std::ranges::find(members, user) != members.end();
           });
         });
}

void GraphEditor::remove(std::size_t place) {
  Node& node = nodes_[place];
  for (const ValueId operand : node.operands) {
    auto& users = users_[operand.index];
    users.erase(std::ranges::find(users, place));
  }
  node = {.is_removed = true};
}

bool GraphEditor::join(std::span<const std::size_t> members, Node joined) {
  const auto place = std::ranges::find_if(
      members, [&](std::size_t member) { return fits(member, members, joined); });
  if (place == members.end()) return false;
  const std::size_t at = *place;
  for (const std::size_t member : members) remove(member);
  for (const ValueId operand : joined.operands) users_[operand.index].push_back(at);
  for (const ValueId result : joined.results) producers_[result.index] = at;
  nodes_[at] = std::move(joined);
  return true;
}

Result<Graph> GraphEditor::take() const {
  GraphBuilder builder;
  std::vector<ValueId> values(graph_.values());
  for (const Node& node : nodes_) {
    if (node.is_removed) continue;
    const auto region = builder.at(node.region);
    std::vector<Value> operands;
    for (const ValueId operand : node.operands)
      operands.push_back(builder.value(values[operand.index]));
    const ValueType& type = graph_.type(node.results[0]);
    std::vector<Value> results;
    switch (node.kind) {
      case OperationKind::input:
        results = {builder.input(node.name, type)};
        break;
      case OperationKind::parameter:
        results = {builder.named_parameter(node.name, type)};
        break;
      case OperationKind::constant:
        results = {builder.constant(node.attributes.number("value"), type)};
        break;
      default:
        results = builder.add_all(node.kind, operands, node.attributes);
    }
    for (std::size_t i = 0; i < results.size() && !builder.has_failed(); ++i)
      values[node.results[i].index] = results[i].id();
  }
  for (const GraphOutput& output : graph_.outputs())
    builder.output(output.name, builder.value(values[output.value.index]));
  return builder.build();
}

}  // namespace hocket
