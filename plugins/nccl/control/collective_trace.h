#pragma once

// Timelines of the ranks' collectives, as `hocket profile` saves them: JSON trace events in
// hocket's own form (docs/formats/trace.md). Pure functions; thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/nccl/measure/collective_statistics.h"

namespace hocket::nccl {

/// Returns a trace for each of `ranks` ranks, "" for one without collectives. The GPUs' timers are
/// brought to that of the lowest rank by the ends of collectives, which all ranks reach at about
/// the same time. `iterations`: number of training iterations in which the collectives ran, above
/// 0; each has as many of them, in order.
std::vector<std::string> traces_of(const std::vector<measure::RankCollectives>& all, int ranks,
                                   std::int64_t iterations);

}  // namespace hocket::nccl
