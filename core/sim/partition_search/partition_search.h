#pragma once

// Chooses how a step is partitioned, by the simulator's prediction of each way. A pure function of
// its input: it is bounded by simulated events, not by time.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

struct ChoiceOptions {
  /// Whether `order` and `comm_channels` are searched, too: stages of one collective run beside
  /// those of another only where several channels do, and late stages overtake by their order.
  bool order = true, comm_channels = true;
  /// At most so many regions, those with the most bytes, are looked at one by one.
  int regions = 3;
  /// The search ends after about so many events, and what was best by then is chosen. Half a second
  /// or so.
  std::int64_t events = 3'000'000;
  /// The share by which predictions err between similar configurations: what is gained by less is
  /// given up for a configuration that differs from the base in fewer knobs.
  double tolerance = 0.02;
};

/// A configuration that was looked at.
struct ConsideredPartition {
  ScheduleConfig config;
  std::int64_t iteration_ns = 0;  ///< as simulate() predicts, without jitter; 0 when refused
  std::string refusal;            ///< why the step cannot be partitioned so; empty when it can

  bool operator==(const ConsideredPartition&) const = default;
};

struct PartitionChoice {
  ScheduleConfig config;
  std::int64_t iteration_ns = 0;
  std::int64_t baseline_ns = 0;  ///< of the base configuration
  std::int64_t bound_ns = 0;     ///< T* of the choice (core/sim/step_bound.h)
  /// All else that was looked at, the fastest first, what was refused last.
  std::vector<ConsideredPartition> rejected;
  std::int64_t events = 0;
  bool complete = true;  ///< the search ended by itself, before its events were used up

  bool operator==(const PartitionChoice&) const = default;
};

/// Searches partition_bytes, bucket_bytes, primitive, group_ranks, launch, compute_parts,
/// compute_order, micro_batches_kept and what `options` allow, then overrides of single regions,
/// from `base` on; all else is as in `base`. Descends knob by knob, from `base` and from each
/// combination of primitive, group and launch (partition space of Centauri, ASPLOS 2024, section
/// 4), until nothing more helps, or communication is hidden but for 0.1 %. Some of the events
/// are kept to take back what gains less than the tolerance: all of it, or region by region, then
/// knob by knob. Nothing that is predicted to be slower than `base` is chosen. invalid_argument
/// when `step` or `base` is not valid, or they do not fit each other.
Result<PartitionChoice> choose_partition(const StepDescription& step, const ScheduleConfig& base,
                                         const ChoiceOptions& options = {});

}  // namespace hocket
