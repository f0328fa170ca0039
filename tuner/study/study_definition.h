#pragma once

// The definition of a study: everything except its command that is needed to resume it. A plain
// value with one JSON form, kept in the store. Functions are pure; thread-safe.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "tuner/search/search.h"
#include "tuner/space/knob_file.h"
#include "tuner/space/space.h"
#include "tuner/study/default_source.h"
#include "tuner/trial/file_fingerprint.h"
#include "tuner/trial/limit.h"
#include "tuner/trial/objective.h"

namespace hocket {

inline constexpr std::size_t kMostObjectives = 3;
inline constexpr std::int64_t kMostWorkers = 1000;

struct StudyDefinition {
  static constexpr std::int64_t kTrials = 15;  ///< unless another number is wanted

  Space space;
  Objective objective;
  /// If not empty, the search looks for the Pareto front.
  std::vector<Objective> other_objectives = {};
  /// A trial that exceeds one of them has failed.
  std::vector<MetricLimit> limits = {};
  /// Number of matches of a regex objective to drop.
  std::int64_t skip = 0;
  /// Drops the warm-up that the samples of a regex or file objective show (tuner/trial/warm_up.h).
  bool finds_warm_up = false;
  SearchMethod method = SearchMethod::model;
  /// At least 0.
  std::int64_t seed = 1;
  /// Number of trials of the search, including the default.
  std::int64_t trials = kTrials;
  /// Maximum number of pairs of runs that confirm the winner against the default.
  std::int64_t confirm_pairs = 5;
  /// Time limit of one trial.
  std::int64_t time_limit_ns = 600'000'000'000;
  /// Absolute path.
  std::string working_directory = {};
  /// Runs at the end of each trial (tuner/trial/command_runner.h), and how long it may take.
  std::string stop_command = {};
  std::int64_t stop_limit_ns = 30'000'000'000;
  DefaultSources default_sources = {};
  /// Places of the knobs of other tools among the parameters (tuner/trial/call/knob_call.h).
  KnobPlaces knobs = {};
  /// Applies the rules of tuner/search/stop_rule.h.
  bool stop_early = false;
  /// These rules apply from so many trials on; nullopt for kLeastTrials
  /// (tuner/study/study_session.h).
  std::optional<std::int64_t> least_trials = {};
  /// Applies the rule of tuner/trial/early_end.h.
  bool end_trials_early = false;
  /// A trial may deliver fewer measurements than the default (tuner/study/few_measurements.h).
  bool allows_fewer = false;
  /// Ends the search when the default fails (tuner/study/study.h).
  bool needs_default = false;
  /// The winner is confirmed beside a setting that was measured better (tuner/study/study.h).
  bool compares_measured = false;
  /// Step description of the default, for the search's model.
  std::optional<StepDescription> step = {};
  /// Name of the source study; empty for the nearest one, nullopt for none.
  std::optional<std::string> transfer = {};
  /// The source study goes on as this one (`--from`): it may be unfinished, and more than its best
  /// settings is taken only if it ran the same command and the same files.
  bool goes_on = false;
  /// The source study that was found, known after the first trial.
  std::optional<Donor> donor = {};
  /// Number of workers that the owner starts, for a study whose trials are run by workers
  /// (archive/workers/); nullopt if the owner runs them itself.
  std::optional<std::int64_t> workers = {};
  /// The workers are tasks of Slurm with these options (tuner/slurm/slurm_options.h); empty if they
  /// are not.
  std::string slurm = {};
  /// Files among the words of the command, as they were when the study began
  /// (archive/studies/command_files.h).
  std::vector<FileFingerprint> files = {};
  /// Why the search ended before its trials, known from then on; empty while it has not.
  std::string stopped = {};

  bool operator==(const StudyDefinition&) const = default;
};

/// Returns the first objective, followed by the others.
std::vector<Objective> objectives_of(const StudyDefinition& definition);

/// Parses the objectives of a definition. Requires at least one and at most kMostObjectives, all
/// different; `auto` must come first, and only before objectives that it cannot become.
Result<std::vector<Objective>> parse_objectives(const std::vector<std::string>& texts);

/// Refuses definitions without trials, numbers out of range, a space with one point, knob values
/// that the scheduler refuses, and options that require a single objective if there are several.
Result<void> validate(const StudyDefinition& definition);

/// Returns the path of the file of an objective or a limit that trials at the same time would
/// share: relative paths are in the working directory of all trials, and neither {TRIAL}, {WORKER}
/// (tuner/trial/placeholder.h) nor all parameters are in it. Nothing if each trial has its own.
std::optional<std::string> shared_file(const StudyDefinition& definition);

/// Refuses a definition whose trials run at the same time and share a file.
Result<void> check_files(const StudyDefinition& definition);

/// `{"format":"hocket-study","version":1,"space":…,"objective":"auto","skip":0,"seed":1,
/// "trials":15,"confirm_pairs":3,"time_limit_ns":…,"working_directory":"/…","limits":
/// ["memory<=4294967296"],"method":"model","stop_early":true,"end_trials_early":true,
/// "needs_default":true,"stopped":"…","step":{…},
/// "transfer":"","donor":{"study":"gpt2-1","distance":2.5,"evaluations":[{"params":{…},"value":…,
/// "standard_error":…},…]}}`; "limits" and what follows may be absent, as may "distance". Several
/// objectives are an array: `"objective":["report","memory"]`. "default_sources"
/// (tuner/study/default_source.h), "knobs" (tuner/space/knob_file.h), "workers", "slurm",
/// "finds_warm_up", "allows_fewer", "compares_measured", "stop_command", "stop_limit_ns", "goes_on"
/// and "files":[{"path":…,"fingerprint":…,"is_program":true},…] may be absent.
nlohmann::json to_json(const StudyDefinition& definition);

/// Reads and validates the JSON form.
Result<StudyDefinition> study_definition_from_json(const nlohmann::json& document);

}  // namespace hocket
