#pragma once

// The time of an iteration when all ranks are equal and nothing is noisy, for given settings,
// and the settings that make it short. What a collective alone takes misleads, since its channels
// slow the computation beside it down. Pure; any thread.

#include <map>

#include "tests/plugins/nccl/host/options.h"

namespace hocket::nccl_host {

using Settings = std::map<Shape, Choice>;

/// Returns NCCL's settings for all collectives that rank 0 takes part in.
Settings default_settings(const Options& options, const CostModel& model);

/// Returns the duration of an iteration of rank 0; all its collectives must be in `settings`.
double iteration_us(const Options& options, const CostModel& model, const Settings& settings);

/// Improves the default one collective at a time until no single change helps.
Settings best_settings(const Options& options, const CostModel& model);

}  // namespace hocket::nccl_host
