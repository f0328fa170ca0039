#include "cli/verbs/graphs/laid_out.h"

#include <utility>

#include "core/base/json.h"
#include "core/layout/rank_program.h"
#include "models/signals/signals.h"

namespace hocket {

Result<Graph> LaidOutGraph::program(std::int64_t rank) const {
  const std::int64_t ranks = plan.mesh.grid().ranks;
  if (rank < 0 || rank >= ranks) {
    return failure(
        ErrorCode::invalid_argument,
        "--rank: expected 0 to " + std::to_string(ranks - 1) + ", found " + std::to_string(rank));
  }
  return program_of_rank(graph, plan, rank);
}

Result<LaidOutGraph> lay_out(Graph graph, const std::string& signals_file) {
  const auto in_file = [&](const Error& error) { return failure(error.in(signals_file)); };
  const auto text = read_file(signals_file, kMostSignalsBytes);
  HOCKET_TRY(text);
  const auto signals = parse_signals(*text);
  if (!signals) return in_file(signals.error());
  // Programs are the same, whichever axes lie within hosts.
  const auto mesh = Mesh::make(signals->mesh, {signals->ranks(), signals->ranks()});
  if (!mesh) return in_file(mesh.error());
  const auto request = request_layouts(*signals, graph, *mesh);
  if (!request) return in_file(request.error());
  auto plan = plan_layouts(graph, *mesh, *request);
  if (!plan) return in_file(plan.error());
  return LaidOutGraph{std::move(graph), std::move(*plan)};
}

}  // namespace hocket
