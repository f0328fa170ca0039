#pragma once

// Which ranks are simulated: identical ones once. Pure.

#include <cstdint>
#include <vector>

#include "core/step/step_description.h"

namespace hocket {

/// Ranks that do the same at the same times.
struct RankGroup {
  std::int64_t first_rank = 0;
  std::int64_t ranks = 0;
  double compute_scale = 1;

  bool operator==(const RankGroup&) const = default;
};

/// The groups of `step`'s ranks, that of rank 0 first. With jitter every rank is alone.
std::vector<RankGroup> rank_groups(const StepDescription& step);

/// The group of `rank` when `rank` < step.ranks.
std::size_t group_of(const StepDescription& step, const std::vector<RankGroup>& groups,
                     std::int64_t rank);

}  // namespace hocket
