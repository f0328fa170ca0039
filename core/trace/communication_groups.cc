#include "core/trace/communication_groups.h"

#include <string>
#include <utility>

namespace hocket {
namespace {

std::string name_of(const Mesh& mesh, std::int64_t rank, CollectiveGroup group) {
  const RankGrid& grid = mesh.grid();
  if (group == CollectiveGroup::inside) return "host " + std::to_string(grid.host_of(rank));
  if (group == CollectiveGroup::between) return "place " + std::to_string(grid.place_of(rank));
  return mesh.name_of(group);
}

}  // namespace

std::optional<TraceGroup> trace_group(const Mesh& mesh, std::int64_t rank, CollectiveGroup group) {
  if (mesh.size_of(group) == mesh.grid().ranks) return std::nullopt;
  return TraceGroup{name_of(mesh, rank, group), mesh.ranks_of(group, rank)};
}

MessageEnds message_ends(const Mesh& mesh, std::int64_t rank, CollectiveKind kind,
                         CollectiveGroup group, std::int64_t peer) {
  const std::int64_t other = mesh.rank_at(group.axes, rank, peer);
  return kind == CollectiveKind::send ? MessageEnds{rank, other} : MessageEnds{other, rank};
}

}  // namespace hocket
