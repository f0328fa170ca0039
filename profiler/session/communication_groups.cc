#include "profiler/session/communication_groups.h"

#include <string>
#include <utility>

namespace hocket {

std::vector<TraceGroup> communication_groups(std::int64_t rank, const RankGrid& grid) {
  const bool is_grid = grid.ranks_per_host > 0 && grid.ranks > 0 &&
                       grid.ranks % grid.ranks_per_host == 0 && rank >= 0 && rank < grid.ranks;
  if (!is_grid) return {};
  TraceGroup inside{"host " + std::to_string(grid.host_of(rank)), {}};
  TraceGroup between{"place " + std::to_string(grid.place_of(rank)), {}};
  for (std::int64_t place = 0; place < grid.ranks_per_host; ++place)
    inside.ranks.push_back(grid.host_of(rank) * grid.ranks_per_host + place);
  for (std::int64_t host = 0; host < grid.hosts(); ++host)
    between.ranks.push_back(host * grid.ranks_per_host + grid.place_of(rank));
  return {std::move(inside), std::move(between)};
}

}  // namespace hocket
