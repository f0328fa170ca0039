#pragma once

// What defines a study, next to its command: all that resuming it needs. A plain value with one
// JSON form, kept in the store.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/step_description.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"
#include "tuner/trial/limit.h"
#include "tuner/trial/objective.h"

namespace hocket {

inline constexpr std::size_t kMostObjectives = 3;

struct StudyDefinition {
  Space space;
  Objective objective;
  std::vector<Objective> other_objectives = {};  ///< with one the search is for the Pareto front
  std::vector<Limit> limits = {};                ///< a trial over one of them has failed
  std::int64_t skip = 0;                         ///< matches of a regex objective to drop
  SearchMethod method = SearchMethod::model;
  std::int64_t seed = 1;                         ///< at least 0
  std::int64_t trials = 15;                      ///< of the search, the default included
  std::int64_t confirm_pairs = 5;                ///< of winner and default, at most
  std::int64_t time_limit_ns = 600'000'000'000;  ///< of one trial
  std::string working_directory = {};            ///< absolute
  bool stop_early = false;                       ///< by the rules of tuner/search/stop_rule.h
  bool end_trials_early = false;                 ///< by the rule of tuner/trial/early_end.h
  std::optional<StepDescription> step = {};      ///< of the default, for the search's model
  /// The earlier study to start from, empty for the nearest; nothing: from none.
  std::optional<std::string> transfer = {};
  std::optional<Donor> donor = {};  ///< what was found, after the first trial

  bool operator==(const StudyDefinition&) const = default;
};

/// The first objective, then the others.
std::vector<Objective> objectives_of(const StudyDefinition& definition);

/// The objectives of a definition, at least one. An error says what to correct: there are at most
/// kMostObjectives, all different, and `auto` comes first and only before what it cannot become.
Result<std::vector<Objective>> parse_objectives(const std::vector<std::string>& texts);

/// Refuses what no study can use: no trials, numbers out of range, a space with one point, knobs
/// with values that the scheduler refuses, several objectives with what only goes with one.
Result<void> validate(const StudyDefinition& definition);

/// `{"format":"hocket-study","version":1,"space":…,"objective":"auto","skip":0,"seed":1,
/// "trials":15,"confirm_pairs":3,"time_limit_ns":…,"working_directory":"/…","limits":
/// ["memory<=4294967296"],"method":"model","stop_early":true,"end_trials_early":true,"step":{…},
/// "transfer":"","donor":{"study":"gpt2-1","distance":2.5,"evaluations":[{"params":{…},"value":…,
/// "standard_error":…},…]}}`; "limits" and what follows may be absent, as may "distance". Several
/// objectives are an array: `"objective":["report","memory"]`.
nlohmann::json to_json(const StudyDefinition& definition);

/// Reads and validates the JSON form.
Result<StudyDefinition> study_definition_from_json(const nlohmann::json& document);

}  // namespace hocket
