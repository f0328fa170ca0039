#pragma once

// Computes the costs of each group of parameters in a step from a trace of the job, as input of the
// overlap bound. Pure.

#include <vector>

#include "core/protocol/workload.h"
#include "core/step/link.h"
#include "core/step/overlap_bound.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// Returns for each tensor of `workload` the medians of its operations' times over the steps in
/// `events` from step `warmup` on. Operations outside every group (batch, head, loss) count for the
/// last group, next to which they run. Communication is that of a ring over `world_size` ranks on
/// `link`.
std::vector<LayerCost> layer_costs(const std::vector<TraceEvent>& events, std::int64_t warmup,
                                   const Workload& workload, int world_size, const LinkSpec& link);

}  // namespace hocket
