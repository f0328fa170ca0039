#pragma once

// Knobs of the scheduler as a command line writes them. Pure functions; thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// Sets one knob from "NAME=VALUE"; integers may be sizes ("4MiB", parse_size()). invalid_argument
/// names the knob and its range; for an unknown name, the nearest one.
Result<void> set_knob(ScheduleConfig& config, std::string_view assignment);

/// A knob and the values that it takes in turn, as they were written.
struct KnobSweep {
  std::string name;
  std::vector<std::string> values;
};

/// Reads "NAME=A,B,C" and checks each value.
Result<KnobSweep> parse_knob_sweep(std::string_view text);

/// Every combination, one value a sweep, the last sweep's changing fastest; one empty combination
/// of no sweeps. invalid_argument when there are more than kMaxCombinations, or when two sweeps
/// are of one knob.
Result<std::vector<std::vector<std::string>>> combinations(std::span<const KnobSweep> sweeps);

inline constexpr std::size_t kMaxCombinations = 100'000;

}  // namespace hocket
