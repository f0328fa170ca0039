#pragma once

// Finds the order of collectives for order=static, from a description of the step in a file or from
// steps that are measured while they are trained. Called as training.h: by every rank, in the same
// order, from one thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"
#include "job/training/training.h"

namespace hocket {

/// Reads the description in the file `path` and checks that it fits the job. The model must not be
/// attached to a submitter with unfinished tasks.
Result<StepDescription> read_fitting_step(const Training& training, const std::string& path);

/// A step that was measured while the job trained its first steps.
struct MeasuredStep {
  std::optional<StepDescription> description;  ///< rank 0's; empty: nothing was measured
  std::int64_t from_step = 0;                  ///< number of steps trained for it
};

struct StaticOrder {
  /// Has the format of SchedulerOptions::static_order.
  std::optional<std::vector<std::uint32_t>> parts;
  std::int64_t from_step = 0;  ///< number of steps trained to find it
};

/// Returns the order for order=static. Rank 0 computes it from the description in the file
/// `step_path`, or, if that is empty, from `measured`, or, if that has trained no step, from a
/// profile of the first `warmup` steps, which are trained here. When no description fits the job,
/// there is no order and rank 0 calls `warn`.
Result<StaticOrder> find_static_order(const Training& training, const ScheduleConfig& config,
                                      const std::string& step_path, const MeasuredStep& measured,
                                      std::int64_t warmup,
                                      const std::function<void(const std::string&)>& warn);

}  // namespace hocket
