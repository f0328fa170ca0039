#pragma once

// Parses knobs of the scheduler from command lines. Pure functions; thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// Sets one knob from "NAME=VALUE". Integers may be sizes ("4MiB", parse_size()). invalid_argument
/// names the knob and its range; an unknown name is answered as unknown_knob() says. NAME may be a
/// framework's (core/step/framework_knob.h) where its values can be converted: "bucket_cap_mb=25"
/// is "bucket_bytes=25MiB".
Result<void> set_knob(ScheduleConfig& config, std::string_view assignment);

/// A knob and the values to sweep over, as written.
struct KnobSweep {
  std::string name;
  std::vector<std::string> values;
};

/// Parses "NAME=A,B,C" and checks each value.
Result<KnobSweep> parse_knob_sweep(std::string_view text);

/// Returns every combination of one value per sweep; the last sweep varies fastest. No sweeps give
/// one empty combination. invalid_argument if there are more than kMaxCombinations, or if two
/// sweeps have the same knob, also under two names.
Result<std::vector<std::vector<std::string>>> sweep_combinations(std::span<const KnobSweep> sweeps);

inline constexpr std::size_t kMaxCombinations = 100'000;

}  // namespace hocket
