#pragma once

// Groups ranks that behave identically, so that each group is simulated once. Pure.

#include <cstdint>
#include <vector>

#include "core/description/step_description.h"
#include "core/programs/job_fold.h"

namespace hocket {

/// Returns the groups of the ranks of `step`, which all run the same with all others, that of rank
/// 0 first. With jitter, or with servers on the hosts of ranks, every rank has a group of its own.
std::vector<RankClass> rank_groups(const StepDescription& step);

/// Returns the index of the group of `rank`, which must be < step.ranks.
std::size_t group_of(const StepDescription& step, const std::vector<RankClass>& groups,
                     std::int64_t rank);

}  // namespace hocket
