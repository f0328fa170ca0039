#pragma once

// Derives a description of the step from a training's own steps. Called as training.h: by every
// rank, in the same order, from one thread.

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/schedule_config.h"
#include "job/training/training.h"

namespace hocket {

/// Trains steps 0 to `steps` and describes one of them. Trains serial steps, then overlapped ones
/// with `config`, both with parts of two sizes and all on one channel; serial ones with divided
/// computations, to measure the cost of a piece; and, where there are groups of ranks, overlapped
/// ones in groups, again with parts of two sizes; and, where there are parameter servers,
/// overlapped ones over these, likewise.
Result<StepDescription> profile_step(const Training& training, const ScheduleConfig& config,
                                     std::int64_t steps);

/// Does the same where steps are placed on a device of limited memory. Trains steps with as few
/// layers on the device as fit, with parts of two sizes, then with as many. None is serial.
/// Returns invalid_argument, before a step runs, where none fits.
Result<StepDescription> profile_placed_step(const Training& training, const ScheduleConfig& config,
                                            std::int64_t steps);

/// Least number of steps of profile_placed_step().
inline constexpr std::int64_t kMinPlacedSteps = 6;

/// Returns what the job submits in a step, without times, and the device that it is placed on. The
/// model must be attached again afterwards.
StepDescription described_step(const Training& training);

/// Least number of steps: each of up to nine kinds needs one to warm up and one to measure.
inline constexpr std::int64_t kMinProfiledSteps = 18;

/// Replaces the file `path`. Returns unavailable when it cannot be written.
Result<void> write_step(const StepDescription& description, const std::string& path);

}  // namespace hocket
