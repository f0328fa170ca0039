#pragma once

// Infers the structure of a step from the traces of several ranks that do the same work. Pure.

#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"

namespace hocket {

/// Returns the structure that all of `traces` share, by infer_structure(), and sets their records'
/// tasks. Ranks whose work differs from the lowest rank's get unknown tasks, and `notes` says why.
/// If the inference fails, all tasks are unknown and the result is empty.
StepStructure infer_common_structure(std::vector<RankTrace>& traces,
                                     std::vector<std::string>& notes);

}  // namespace hocket
