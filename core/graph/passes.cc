#include "core/graph/passes.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/base/text.h"
#include "core/graph/derivative.h"
#include "core/graph/passes/fusion.h"

namespace hocket {
namespace {

constexpr std::size_t kShownPassBytes = 40;

Result<Graph> differentiated(const Graph& graph, const PassOptions&) {
  const bool is_scaled = graph.leaf(kLossScale).has_value();
  return differentiate(graph, {.scale = std::string(is_scaled ? kLossScale : "")});
}

constexpr std::array<GraphPass, 7> kPasses{{
    {"needed", "leaves out what no output needs that is asked for",
     [](const Graph& graph, const PassOptions& options) {
       return keep_needed(graph, options.needed);
     }},
    {"precision", "computes in bfloat16 or float16, with parameters in float32",
     [](const Graph& graph, const PassOptions& options) {
       return lower_precision(graph, options.precision);
     }},
    {"derivative", "adds the gradient of \"loss\" by each parameter", differentiated},
    {"recomputation", "computes values again instead of keeping them for the derivative",
     [](const Graph& graph, const PassOptions& options) {
       return recompute(graph, options.recomputation);
     }},
    {"micro_batches", "repeats the step for each micro-batch, and adds up the gradients",
     [](const Graph& graph, const PassOptions& options) {
       return split_into_micro_batches(graph, options.micro_batches);
     }},
    {"optimiser", "adds what each parameter is after the step",
     [](const Graph& graph, const PassOptions& options) {
       return add_optimiser(graph, options.optimiser);
     }},
    {"fusion", "joins what follows a product to it",
     [](const Graph& graph, const PassOptions&) { return fuse(graph); }},
}};

}  // namespace

std::span<const GraphPass> graph_passes() {
  return kPasses;
}

Result<Graph> run_passes(const Graph& graph, std::string_view last, const PassOptions& options) {
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
    auto next = pass.run(present, options);
    if (!next) return failure(next.error().in(std::string(pass.name)));
    present = std::move(*next);
    if (pass.name == last) break;
  }
  return present;
}

}  // namespace hocket
