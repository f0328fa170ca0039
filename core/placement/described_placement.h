#pragma once

// Places a step description (core/description/step_description.h) on a device with limited memory
// and its host. What the scheduler runs and what the simulator predicts are the same placement.
// Pure.

#include <cstdint>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/placement/step_placement.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct PlacedDescription {
  /// The tasks of `placed` with names, priorities, times and lanes. A copy has the priority of the
  /// task that needs it first.
  StepDescription step;
  PlacedStep placed;
};

/// Returns 1 + the highest layer of the step's data, which is the least offload_k that keeps all
/// layers on the device; 0 where no data belong to a layer.
std::int64_t layers_of(const StepDescription& step);

/// Places `step`, which must be in the general form and have a limit of the device's memory.
/// Returns invalid_argument as place_step() does, and where a configuration partitions steps, since
/// a partitioned step has no places.
Result<PlacedDescription> place_description(const StepDescription& step,
                                            const ScheduleConfig& config);

}  // namespace hocket
