#include "core/graph/passes/needed.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/graph/passes/graph_copy.h"

namespace hocket {
namespace {

constexpr std::size_t kShownWantedBytes = 60;

}  // namespace

Result<Graph> keep_needed(const Graph& graph, const NeededOptions& options) {
  const auto is_wanted = [&](const std::string& name) {
    return options.outputs.empty() ||
           std::ranges::find(options.outputs, name) != options.outputs.end();
  };
  for (const std::string& name : options.outputs) {
    if (graph.output(name)) continue;
    std::string all;
    for (const GraphOutput& output : graph.outputs())
      all += (all.empty() ? "" : ", ") + output.name;
    return failure(ErrorCode::invalid_argument, "\"" + printable(name, kShownWantedBytes) +
                                                    "\" is no output of the graph, which has " +
                                                    (all.empty() ? "none" : all));
  }
  std::vector<bool> needed(graph.operations().size());
  for (const GraphOutput& output : graph.outputs())
    if (is_wanted(output.name)) needed[graph.producer(output.value)] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    const Operation& operation = graph.operations()[i];
    if (operation.kind <= OperationKind::parameter) needed[i] = true;
    if (!needed[i]) continue;
    for (const ValueId operand : operation.operands) needed[graph.producer(operand)] = true;
  }
  GraphCopy copy(graph);
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) copy.copy(graph.operations()[i]);
  for (const GraphOutput& output : graph.outputs())
    if (is_wanted(output.name)) copy.to().output(output.name, copy.at(output.value));
  return copy.take();
}

}  // namespace hocket
