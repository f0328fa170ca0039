#pragma once

// The programs of a step: which rank runs which, and each as the step of the ranks that run it.
// Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"

namespace hocket {

/// Returns each program as the step of its ranks in the general form, without what is about ranks
/// or the measurement; the step itself, expanded, where all ranks run the same.
std::vector<StepDescription> program_steps(const StepDescription& step);

/// Returns the number of the program of each rank. `step` may have any programs, but must otherwise
/// be valid. invalid_argument for more than kMaxProgramRanks ranks, hosts with different numbers of
/// them, a place that the mesh has not, and a rank that has no program or two.
Result<std::vector<std::uint32_t>> programs_of_ranks(const StepDescription& step);

/// Returns whether some ranks take part in communications that others do not take part in, so that
/// it must be told who does: with programs, with messages, or with groups of some axes among ranks
/// that differ.
bool takes_part_by_rank(const StepDescription& step);
/// Refuses such a step; `what` begins the message ("a search", "partitioning").
Result<void> check_same_on_all_ranks(const StepDescription& step, const std::string& what);

}  // namespace hocket
