#pragma once

// The groups of ranks among which hocket's own collectives run, as traces name them. Pure.

#include <cstdint>
#include <vector>

#include "core/step/collective_group.h"
#include "core/step/collective_kind.h"
#include "core/step/rank_grid.h"
#include "core/trace/rank_trace.h"

namespace hocket {

/// Returns the groups `inside` and `between` of a rank: "host 0" has the ranks of the first host,
/// "place 1" the second rank of every host. None if the grid is not known or is none.
std::vector<TraceGroup> communication_groups(std::int64_t rank, const RankGrid& grid);

/// Returns the TraceRecord::group of a group of all axes, if communication_groups() has any.
constexpr std::int32_t group_number(GroupTier tier) {
  switch (tier) {
    case GroupTier::whole:
      break;
    case GroupTier::inside:
      return 0;
    case GroupTier::between:
      return 1;
  }
  return kAllRanks;
}

}  // namespace hocket
