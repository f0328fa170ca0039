#pragma once

// The least time that an iteration of a step can take. Pure.

#include <cstdint>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct StepBound {
  /// Times on the slowest rank, each on its own: all compute tasks, and all bytes without overhead.
  std::int64_t compute_ns = 0, communication_ns = 0;
  /// Time of all tasks on lanes other than the streams', which only a placed step has; compute_ns
  /// leaves them out.
  std::int64_t lanes_ns = 0;
  /// T*: no schedule on these streams and links is faster.
  std::int64_t bound_ns = 0;
};

/// Returns T* for the collectives that result from the primitives and groups of `config`; `step`
/// and `config` must be valid. Each tier of links bounds the period on its own, since parts on one
/// tier may run beside parts on the other.
///
/// In the simple form, the bound is that of core/plan/overlap_bound.h. In the general form it is
/// the largest of: computation divided by streams, communication without overhead, and the period
/// with unlimited streams and channels. Where computations may be divided, the last of these is
/// that of the partitioned step.
///
/// A step with a limit of the device's memory is placed as `config` says; the bound is then that of
/// the general form of the placed step, and at least the time of each lane.
///
/// Returns invalid_argument when the step cannot be partitioned or placed so.
Result<StepBound> bound_of(const StepDescription& step, const ScheduleConfig& config);

}  // namespace hocket
