#pragma once

// Finds knobs of a configuration that do not decide what their name says, because another knob
// does. Nothing is wrong with such a configuration, but people who vary the knob and see little or
// no difference should know why. Pure; thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/step/schedule_config.h"

namespace hocket {

struct HiddenKnob {
  std::string knob;  ///< "bucket_bytes", or a region's: "regions.NAME.bucket_bytes"
  std::string by;    ///< the knob that decides instead; "the step" when the step itself does
  /// Both values, which of the two decides, why, and what to change.
  std::string text;

  bool operator==(const HiddenKnob&) const = default;
};

/// The sizes of a step, as far as they are known; an absent field is unknown.
struct StepSizes {
  std::optional<std::int64_t> largest_collective_bytes = {};
  std::optional<std::int64_t> parts = {};  ///< number of parts in a step under the configuration
};

/// Returns the hidden knobs of a valid configuration. Sizes of parts are taken to be as large as
/// the configuration allows, or as the step has them if that is known.
std::vector<HiddenKnob> hidden_knobs(const ScheduleConfig& config, const StepSizes& step = {});

}  // namespace hocket
