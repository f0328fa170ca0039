#pragma once

// Chooses how a step is partitioned, from the simulator's predictions. A pure function of its
// input: the effort is bounded by simulated events, not by time.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct PartitionSearchOptions {
  /// Searches `order` and `comm_channels`, too. Stages of one collective run beside those of
  /// another only with several channels, and late stages overtake only by the order.
  bool order = true, comm_channels = true;
  /// Most regions to search one by one; those with the most bytes are taken.
  int regions = 3;
  /// Approximate limit on simulated events; the search then ends with the best found so far. The
  /// default takes about half a second.
  std::int64_t events = 3'000'000;
  /// Relative error of predictions between similar configurations. A gain below it is given up for
  /// a configuration that differs from the base in fewer knobs.
  double tolerance = 0.02;
  /// Configurations that are evaluated whatever the limit, such as those of frameworks. The choice
  /// is never predicted to be slower than one of them, unless it is the base and none of them is
  /// faster by more than the tolerance.
  std::vector<ScheduleConfig> always = {};
};

/// A configuration that the search evaluated.
struct ConsideredPartition {
  ScheduleConfig config;
  std::int64_t iteration_ns = 0;  ///< as simulate() predicts it, without jitter; 0 when refused
  std::string refusal;  ///< reason why the step cannot be partitioned so; empty when it can

  bool operator==(const ConsideredPartition&) const = default;
};

struct PartitionChoice {
  ScheduleConfig config;
  std::int64_t iteration_ns = 0;
  std::int64_t baseline_ns = 0;  ///< with the base configuration
  std::int64_t bound_ns = 0;     ///< T* of the choice (core/sim/step_bound.h)
  /// All other configurations that were evaluated, the fastest first and the refused ones last.
  std::vector<ConsideredPartition> rejected;
  std::int64_t events = 0;
  bool complete = true;  ///< false when the search ended because its events were used up

  bool operator==(const PartitionChoice&) const = default;
};

/// Searches partition_bytes, bucket_bytes, primitive, group_ranks, launch, compute_parts,
/// compute_order, micro_batches_kept and the knobs that `options` allow, then overrides of single
/// regions, starting from `base`; all other knobs stay as in `base`.
///
/// Descends knob by knob, from `base` and from each combination of primitive, group and launch
/// (partition space of Centauri, ASPLOS 2024, section 4), until nothing more helps or all but 0.1 %
/// of the communication is hidden. A share of the events is reserved to take back changes that gain
/// less than the tolerance: all of them, or region by region, then knob by knob. Never chooses a
/// configuration that is predicted to be slower than `base`.
///
/// Returns invalid_argument when `step` or `base` is not valid, or when they do not fit each other.
Result<PartitionChoice> choose_partition(const StepDescription& step, const ScheduleConfig& base,
                                         const PartitionSearchOptions& options = {});

}  // namespace hocket
