#pragma once

// What each group of parameters costs in a step, from a trace of the job: the input of the overlap
// bound.

#include <vector>

#include "core/protocol/workload.h"
#include "core/step/link.h"
#include "core/step/overlap_bound.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// For each tensor of `workload`, the medians over the steps in `events` (without the first
/// `warmup`) of its operations' times. Operations outside every group (batch, head, loss) count for
/// the last, next to which they run. Communication is that of a ring over `world_size` ranks on
/// `link`.
std::vector<LayerCost> layer_costs(const std::vector<TraceEvent>& events, std::int64_t warmup,
                                   const Workload& workload, int world_size, const LinkSpec& link);

}  // namespace hocket
