#pragma once

// Groups ranks that behave identically, so that each group is simulated once. Pure.

#include <cstdint>
#include <vector>

#include "core/description/step_description.h"

namespace hocket {

/// Ranks that do the same work at the same times.
struct RankGroup {
  std::int64_t first_rank = 0;
  std::int64_t ranks = 0;
  double compute_scale = 1;
  std::uint32_t program = 0;  ///< index into the programs of the step

  bool operator==(const RankGroup&) const = default;
};

/// Returns the groups of the ranks of `step`, which all run the same with all others, that of rank
/// 0 first. With jitter, or with servers on the hosts of ranks, every rank has a group of its own.
std::vector<RankGroup> rank_groups(const StepDescription& step);

/// Returns the index of the group of `rank`, which must be < step.ranks.
std::size_t group_of(const StepDescription& step, const std::vector<RankGroup>& groups,
                     std::int64_t rank);

}  // namespace hocket
