#pragma once

// What a training learns from its own steps: a step description, and from that the order of
// collectives that order=static follows. Called like training.h: by every rank, in the same order.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"
#include "examples/gpt2/job/training.h"

namespace hocket {

/// Trains steps 0 to `steps` to describe one: serial steps, then overlapped ones with `config`,
/// both with parts of two sizes, and all on one channel; serial ones with their computations
/// divided, for what each piece adds; and, where there are groups of ranks, overlapped ones in
/// groups, again with parts of two sizes.
Result<StepDescription> profile_step(const Training& training, const ScheduleConfig& config,
                                     std::int64_t steps);

/// Each of the up to seven kinds needs one step to warm up and one to measure.
inline constexpr std::int64_t kMinProfiledSteps = 14;

/// Replaces the file `path` as a whole. unavailable when it cannot be written.
Result<void> write_step(const StepDescription& description, const std::string& path);

/// The description in the file `path`, if it fits the job. Only while the model is not attached to
/// anything that has unfinished tasks.
Result<StepDescription> read_fitting_step(const Training& training, const std::string& path);

struct StaticOrder {
  std::vector<std::uint32_t> parts;  ///< as SchedulerOptions::static_order
  std::int64_t from_step = 0;        ///< how many steps were trained to find it
};

/// What order=static follows: rank 0 computes it from the description in the file `step_path`, or,
/// if that is empty, from a profile of the first `warmup` steps, which are trained here. Without a
/// description that fits the job there is no order, and rank 0 calls `warn`.
Result<StaticOrder> find_static_order(const Training& training, const ScheduleConfig& config,
                                      const std::string& step_path, std::int64_t warmup,
                                      const std::function<void(const std::string&)>& warn);

}  // namespace hocket
