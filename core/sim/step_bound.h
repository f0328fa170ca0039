#pragma once

// The least time that an iteration of a step can take. Pure.

#include <cstdint>

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

struct StepBound {
  /// On the slowest rank, each alone: what the compute tasks take, and all bytes without overhead.
  std::int64_t compute_ns = 0, communication_ns = 0;
  /// T*: no schedule on these streams and links is faster.
  std::int64_t bound_ns = 0;
};

/// T* for the primitives and groups that `config` makes of the step's collectives; `step` and
/// `config` must be valid. Each tier of links bounds the period on its own, since parts on the one
/// may run beside parts on the other: in the simple form as in core/step/overlap_bound.h, in the
/// general form by the largest of: computation divided by streams, communication free of overhead,
/// and the period with unlimited streams and channels. Where computations may be divided, the last
/// is that of the step as partitioned. invalid_argument when the step cannot be partitioned so.
Result<StepBound> bound_of(const StepDescription& step, const ScheduleConfig& config);

}  // namespace hocket
