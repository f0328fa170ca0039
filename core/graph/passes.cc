#include "core/graph/passes.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/text.h"
#include "core/graph/derivative.h"

namespace hocket {
namespace {

constexpr std::size_t kShownPassBytes = 40;

constexpr std::array<GraphPass, 1> kPasses{{
    {"derivative", "adds the gradient of \"loss\" by each parameter",
     [](const Graph& graph) { return differentiate(graph); }},
}};

}  // namespace

std::span<const GraphPass> graph_passes() {
  return kPasses;
}

Result<Graph> run_passes(const Graph& graph, std::string_view last) {
  Graph present = graph;
  if (last.empty()) return present;
  if (std::ranges::find(kPasses, last, &GraphPass::name) == kPasses.end()) {
    std::string names;
    for (const GraphPass& pass : kPasses)
      names += (names.empty() ? "" : ", ") + std::string(pass.name);
    return failure(
        ErrorCode::invalid_argument,
        "there is no pass \"" + printable(last, kShownPassBytes) + "\"; there are " + names);
  }
  for (const GraphPass& pass : kPasses) {
    auto next = pass.run(present);
    if (!next) return failure(next.error().in(std::string(pass.name)));
    present = std::move(*next);
    if (pass.name == last) break;
  }
  return present;
}

}  // namespace hocket
