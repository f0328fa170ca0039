#pragma once

// What defines a study, next to its command: all that resuming it needs. A plain value with one
// JSON form, kept in the store.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/result.h"
#include "core/step_description.h"
#include "tuner/objective.h"
#include "tuner/space.h"

namespace hocket {

struct StudyDefinition {
  Space space;
  Objective objective;
  std::int64_t skip = 0;                         ///< matches of a regex objective to drop
  std::int64_t seed = 1;                         ///< at least 0
  std::int64_t trials = 15;                      ///< of the search, the default included
  std::int64_t confirm_pairs = 3;                ///< of winner and default, after the search
  std::int64_t time_limit_ns = 600'000'000'000;  ///< of one trial
  std::string working_directory = {};            ///< absolute
  bool stop_early = false;                       ///< by the rules of tuner/stop_rule.h
  std::optional<StepDescription> step = {};      ///< of the default, for the search's model

  bool operator==(const StudyDefinition&) const = default;
};

/// Refuses what no study can use: no trials, numbers out of range, a space with one point, knobs
/// with values that the scheduler refuses.
Result<void> validate(const StudyDefinition& definition);

/// `{"format":"hocket-study","version":1,"space":…,"objective":"auto","skip":0,"seed":1,
/// "trials":15,"confirm_pairs":3,"time_limit_ns":…,"working_directory":"/…","stop_early":true,
/// "step":{…}}`; the last two may be absent.
nlohmann::json to_json(const StudyDefinition& definition);

/// Reads and validates the JSON form.
Result<StudyDefinition> study_definition_from_json(const nlohmann::json& document);

}  // namespace hocket
