#pragma once

// A training step whose workers push each gradient to parameter servers and pull the new parameters
// back, over links that carry both directions at once; for the simulator. Pure.

#include <cstdint>
#include <vector>

#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

/// What a step may cost beyond its layers' times and the bandwidth.
struct Overheads {
  double link_ns_per_part = 0;     ///< a part holds the link this much longer, each way
  double compute_ns_per_part = 0;  ///< added to the computation of its layer
  double compute_ns_per_step = 0;
  double compute_share = 0;  ///< by which all computation is slower
};

/// The baseline, in the general form: tensors whole, in the order in which backward produces them;
/// a tensor is pulled when all of it was pushed, so the two directions overlap only between
/// tensors; a layer's forward waits for its own parameters. To be run under fifo_config().
StepDescription fifo_step(const std::vector<StepLayer>& layers, double bytes_per_second,
                          const Overheads& overheads);
ScheduleConfig fifo_config();

/// The same step in parts of at most `partition_bytes`, in the simple form: a part holds the link
/// while it is pushed and is done when it was pulled, which takes as long as for a full part.
StepDescription scheduled_step(const std::vector<StepLayer>& layers, double bytes_per_second,
                               const Overheads& overheads, std::int64_t partition_bytes);

}  // namespace hocket
