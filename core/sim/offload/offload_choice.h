#pragma once

// Chooses offload_k and prefetch_layers with the simulator as judge: how many layers a device of
// limited memory keeps and updates, and how far copies run ahead (CoTrain, ICPP 2023, chooses its k
// by the times of backward and update alone). Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"
#include "core/step/task.h"

namespace hocket {

struct OffloadCandidate {
  std::int64_t offload_k = 0;
  /// The one of the searched values that is fastest with this offload_k.
  std::int64_t prefetch_layers = 0;
  /// Predicted time of an iteration; 0 where the step does not fit.
  std::int64_t iteration_ns = 0;
  /// Device memory that the placed step takes.
  std::int64_t peak_bytes = 0;
  /// The lane that is busy for the largest share of an iteration, and that share. No schedule is
  /// faster by more than what is left of the iteration.
  TaskLane busiest = TaskLane::stream;
  double busy_share = 0;
  /// Why the step does not fit; empty if it does.
  std::string why_not = {};

  bool fits() const { return why_not.empty(); }
};

struct OffloadChoice {
  /// One for each offload_k from 0 to the number of layers.
  std::vector<OffloadCandidate> candidates;
  /// Index of the fastest; of equally fast ones the highest offload_k, which copies the least.
  std::size_t best = 0;

  const OffloadCandidate& chosen() const { return candidates[best]; }
};

/// Judges `step`, which must have a limit of the device's memory, under `config` with each
/// offload_k. Returns invalid_argument where the step fits with none, with the reason of
/// offload_k=0.
Result<OffloadChoice> choose_offload(const StepDescription& step, const ScheduleConfig& config);

/// Returns the offload_k of CoTrain's rule (ICPP 2023, section 4.2): the fewest layers that the
/// device must update so that the host has updated the others when the backward pass ends. It looks
/// at the times of backward and update only.
std::int64_t cotrain_offload_k(const StepDescription& step);

}  // namespace hocket
