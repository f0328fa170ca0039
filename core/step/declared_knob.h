#pragma once

// Knobs that a job declares itself, besides those of the scheduler (core/step/knob.h): the bucket
// size of its framework, the depth of its prefetch. A configuration has their values in
// ScheduleConfig::job; in lists of knobs their names are "job.NAME". Plain values and pure
// functions; thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/knob.h"
#include "core/step/schedule_config.h"

namespace hocket {

class JsonReader;

struct DeclaredKnob {
  /// Without "job.": 1 to 64 of a-z, 0-9 and "_".
  std::string name;
  /// Unit for people, such as "B"; empty if there is none.
  std::string unit = {};
  /// Range of an integer, both ends included: what is allowed and what is searched. Unused for a
  /// choice.
  std::int64_t low = 0, high = 0;
  /// True: a search tries the powers of two times `low`, and the default. False: all of the range.
  bool log = false;
  /// Words of a choice, 1 to 64; empty for an integer.
  std::vector<std::string> choices = {};
  JobValue default_value = std::int64_t{0};

  bool operator==(const DeclaredKnob&) const = default;
};

inline constexpr std::size_t kMaxDeclaredKnobs = 64;

/// Checks a declaration. invalid_argument names the knob, the field and what is allowed.
Result<void> validate(const DeclaredKnob& knob);

/// Checks the declarations of a job: each of them, that their names differ, and that there are at
/// most kMaxDeclaredKnobs.
Result<void> validate(std::span<const DeclaredKnob> knobs);

/// Returns the declared knob with the name `name`, which begins with "job."; null if there is none.
const DeclaredKnob* find_declared(std::span<const DeclaredKnob> knobs, std::string_view name);

/// Returns the knob in the form of the scheduler's. Valid while `declared` is.
Knob as_knob(const DeclaredKnob& declared);

/// Returns `config` with the default of every declared knob that has no value in it.
ScheduleConfig with_declared_defaults(ScheduleConfig config, std::span<const DeclaredKnob> knobs);

/// Checks that all values of ScheduleConfig::job are allowed for declared knobs. invalid_argument
/// names the knob and what is allowed.
Result<void> check_declared(const ScheduleConfig& config, std::span<const DeclaredKnob> knobs);

nlohmann::json to_json(const DeclaredKnob& knob);
/// Reads a valid declaration.
void read_declared_knob(JsonReader& reader, DeclaredKnob& knob);

}  // namespace hocket
