#pragma once

// Training steps for the simulator in which workers push each gradient to parameter servers and
// pull the new parameters back, over full-duplex links. Pure.
//
// As many workers as servers, each with a link of its own, all alike: each worker then has as much
// of the servers' links as of one server for itself, and that is what is simulated.

#include <cstdint>
#include <vector>

#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// Costs of a step beyond its layers' times and the bandwidth.
struct Overheads {
  double link_ns_per_part = 0;     ///< extra time for which a part holds the link, each way
  double compute_ns_per_part = 0;  ///< added to the computation of its layer
  double compute_ns_per_step = 0;
  double compute_share = 0;  ///< fraction by which all computation is slower
};

inline constexpr std::int64_t kWholeTensors = 1 << 30;  ///< a partition that divides nothing

/// Returns a step in the simple form, to run over servers in parts of at most `partition_bytes`.
StepDescription served_step(const std::vector<StepLayer>& layers, double bytes_per_second,
                            const Overheads& overheads, std::int64_t partition_bytes);

/// Returns the baseline: whole tensors, in the order in which backward produces them. Over servers
/// a tensor is pulled once all of it has been pushed, so the two directions overlap only between
/// tensors; a layer's forward waits for its own parameters.
ScheduleConfig fifo_config();

/// Returns `config` with sums over servers.
ScheduleConfig over_servers(ScheduleConfig config);

/// Returns the time of the forward and backward pass of a served_step().
double compute_ns(const StepDescription& step);

}  // namespace hocket
