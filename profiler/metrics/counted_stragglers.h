#pragma once

// Stragglers (profiler/metrics/stragglers.h) of a running job, from what its ranks count in each
// iteration on their own clocks (core/protocol/rank_counters.h). Pure.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/protocol/rank_counters.h"
#include "profiler/metrics/stragglers.h"

namespace hocket {

/// Share of the iteration time by which what ranks count may differ without a reason: a step's
/// counters are read while the next one runs.
inline constexpr double kCountersErrorShare = 0.03;

/// A rank's link is taken to be slow when it sends for this share of an iteration and for so many
/// times as long as any other rank. Otherwise sending is a part of waiting like on all ranks.
inline constexpr double kSlowLinkShare = 0.25, kSlowLinkRatio = 2.0;

/// Returns what each rank's time went to in the counted steps. `iteration_ns`: the job's usual
/// iteration time; 0 if it is not known, and then nothing is returned. Steps with another number of
/// ranks than the last one are left out.
StragglerInput straggler_input(const std::vector<CountedSteps>& counted, double iteration_ns);

/// Returns the verdict as JSON, each rank with the medians of its counters.
nlohmann::json counted_stragglers_json(const std::vector<CountedSteps>& counted,
                                       double iteration_ns);

}  // namespace hocket
