#pragma once

// Decides how many layers a device of limited memory keeps, from steps that are trained and
// measured meanwhile. Called as training.h: by every rank, in the same order, from one thread.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/protocol/reported_values.h"
#include "core/step/schedule_config.h"
#include "job/training/static_order.h"
#include "job/training/training.h"

namespace hocket {

/// Checks that the job's steps can be placed as `config` says, before any step runs. Returns
/// invalid_argument that names the task or the knob. Requires a Training with memory.
Result<void> check_placement(const Training& training, const ScheduleConfig& config);

/// Returns what a job reports of the placement of `step` (described_step()) under `config`. Returns
/// invalid_argument where it does not fit.
Result<PlacementValues> placement_values(const StepDescription& step, const ScheduleConfig& config);

struct OffloadDecision {
  ScheduleConfig config;  ///< with the offload_k and prefetch_layers of rank 0's choice
  MeasuredStep measured;
  std::string reason;  ///< on rank 0: what was chosen and what the simulator predicts
};

/// Trains steps 0 to `steps`, at least kMinPlacedSteps, with few layers and with as many layers as
/// fit on the device, and returns rank 0's choice (core/sim/offload/offload_choice.h). Returns
/// invalid_argument where no number of layers fits.
Result<OffloadDecision> decide_offload(const Training& training, const ScheduleConfig& config,
                                       std::int64_t steps);

}  // namespace hocket
