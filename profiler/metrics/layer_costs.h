#pragma once

// Computes the costs of each group of parameters in a step from a trace of the job, as input of the
// overlap bound. Pure.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/overlap_bound.h"
#include "core/protocol/workload.h"
#include "core/step/link.h"
#include "core/trace/trace_sink.h"

namespace hocket {

struct LayerCostOptions {
  std::int64_t warmup = 0;  ///< first steps that do not count
  int world_size = 1;
  LinkSpec link;
  /// Returns the name of the tensor to whose operations the task of this name belongs.
  std::function<std::string(std::string_view task)> tensor_of;
  /// Returns whether the task of this name is part of the backward pass.
  std::function<bool(std::string_view)> is_backward;
};

/// Returns for each tensor of `workload` the medians of its operations' times over the steps in
/// `events`. Operations of no tensor count for the last one. Communication is that of a ring over
/// the ranks.
std::vector<LayerCost> layer_costs(const std::vector<TraceEvent>& events, const Workload& workload,
                                   const LayerCostOptions& options);

}  // namespace hocket
