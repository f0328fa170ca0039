#pragma once

// The knobs: the fields of a ScheduleConfig (core/step/schedule_config.h) by name, with their
// allowed values and the range worth searching. Constant; thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Allowed values of one field of ScheduleConfig, and the range worth searching.
struct Knob {
  std::string_view name;
  /// A few words on what it decides, for lists.
  std::string_view meaning;
  /// Allowed range of an integer knob, both ends included. Unused for a choice.
  std::int64_t low = 0, high = 0;
  /// Range of an integer knob that a study searches by default. If `log` is set the search is
  /// logarithmic, and the powers of two from `tune_low` on suffice.
  std::int64_t tune_low = 0, tune_high = 0;
  bool log = false;
  /// Names of the values of a choice; empty for an integer knob.
  std::vector<std::string_view> choices;
  /// Alternative words that are read as one of the choices.
  struct Spelling {
    std::string_view word, choice;
  };
  std::vector<Spelling> other_spellings = {};
  /// True when a study searches the knob by default.
  bool searched = true;
};

/// Returns every knob, in the order of ScheduleConfig.
std::span<const Knob> schedule_knobs();
/// Returns the knobs that a region may override, except `dimension`, in the order of
/// RegionOverrides.
std::span<const Knob> region_knobs();
/// Returns the knob called `name`, which may be a region's, "regions.NAME.KNOB"; null when there is
/// none.
const Knob* find_knob(std::string_view name);
/// Returns the error for an unknown knob, which may be a region's. A name that a framework has for
/// a knob (core/step/framework_knob.h) is answered with that knob, any other with the nearest and
/// with all knobs and what they mean.
Error unknown_knob(std::string_view name);

/// Names of regions' knobs are "regions.NAME.KNOB"; NAME may contain dots.
inline constexpr std::string_view kRegionKnobPrefix = "regions.";
/// Returns NAME and KNOB, whatever KNOB is; nothing for names that are not a region's knob.
std::optional<std::pair<std::string, std::string>> split_region_knob(std::string_view name);

/// Names of knobs that a job declares itself are "job.NAME" (core/step/declared_knob.h).
inline constexpr std::string_view kJobKnobPrefix = "job.";
/// Returns whether `name` has the form of such a name, with 1 to 64 of a-z, 0-9 and "_" after the
/// prefix.
bool is_job_knob(std::string_view name);
/// Returns "job.NAME".
std::string knob_name_of(std::string_view declared_name);

}  // namespace hocket
