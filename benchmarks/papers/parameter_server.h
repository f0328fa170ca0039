#pragma once

// Training steps for the simulator in which workers push each gradient to parameter servers and
// pull the new parameters back, over full-duplex links. Pure.

#include <cstdint>
#include <vector>

#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

/// Costs of a step beyond its layers' times and the bandwidth.
struct Overheads {
  double link_ns_per_part = 0;     ///< extra time for which a part holds the link, each way
  double compute_ns_per_part = 0;  ///< added to the computation of its layer
  double compute_ns_per_step = 0;
  double compute_share = 0;  ///< fraction by which all computation is slower
};

/// Returns the baseline, in the general form: whole tensors, in the order in which backward
/// produces them. A tensor is pulled once all of it has been pushed, so the two directions overlap
/// only between tensors; a layer's forward waits for its own parameters. Run it under
/// fifo_config().
StepDescription fifo_step(const std::vector<StepLayer>& layers, double bytes_per_second,
                          const Overheads& overheads);
ScheduleConfig fifo_config();

/// Returns the same step in parts of at most `partition_bytes`, in the simple form: a part holds
/// the link while it is pushed, and is done when it has been pulled, which takes as long as for a
/// full part.
StepDescription scheduled_step(const std::vector<StepLayer>& layers, double bytes_per_second,
                               const Overheads& overheads, std::int64_t partition_bytes);

}  // namespace hocket
