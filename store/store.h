#pragma once

// What hocket remembers: topologies, workloads, studies with their trials and every measurement,
// and the configurations that were promoted. Rows are plain values; what the store does not look
// into is JSON. store/open.h opens one; docs/formats/store.md describes the file.
//
// Thread-safe: calls are serialised. Every call that changes something is one transaction: it is
// done, and kept across a crash, when it returns a value; nothing has changed when it returns an
// error. Several processes may use one file at once.
//
// Errors of every call: timed_out when another process holds the store too long, unavailable when
// the file cannot be read or written, invalid_argument and not_found as documented. JSON values
// must be objects at most 64 levels deep, with finite numbers and valid UTF-8. Fields `*_at_ns` are
// Unix time in nanoseconds, taken from the clock that the store was opened with.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/topology.h"
#include "core/trial.h"
#include "core/workload.h"

namespace hocket {

enum class StudyState { running, finished, interrupted };

std::string_view to_string(StudyState state);

struct TopologyRow {
  std::int64_t id = 0;
  std::string fingerprint;
  std::string name;
  nlohmann::json document;  ///< to_json(Topology)

  bool operator==(const TopologyRow&) const = default;
};

struct WorkloadRow {
  std::int64_t id = 0;
  std::string fingerprint;
  std::string name;
  nlohmann::json document;  ///< to_json(Workload)

  bool operator==(const WorkloadRow&) const = default;
};

struct NewStudy {
  /// 1 to 100 letters, digits, ".", "_" and "-", not starting with "-" and not only digits. Empty:
  /// generated from the workload's name, else the command's ("gpt2-7").
  std::string name;
  std::vector<std::string> command;
  /// Space, objective, seed, budget, time limits: whatever resuming needs.
  nlohmann::json definition = nlohmann::json::object();
  /// Who runs the study; the store only compares it.
  std::string owner;
  std::optional<std::int64_t> topology_id, workload_id;
};

struct StudyRow {
  std::int64_t id = 0;
  std::string name;
  std::vector<std::string> command;
  nlohmann::json definition = nlohmann::json::object();
  StudyState state = StudyState::running;
  std::string owner;
  std::optional<std::int64_t> topology_id, workload_id;
  std::int64_t created_at_ns = 0;
  std::int64_t updated_at_ns = 0;  ///< of the study or of one of its trials
  nlohmann::json result;           ///< null until set

  bool operator==(const StudyRow&) const = default;
};

/// What to change in a study; an absent field stays as it is.
struct StudyUpdate {
  std::optional<StudyState> state = {};
  std::optional<std::string> owner = {};
  std::optional<nlohmann::json> definition = {};
  std::optional<nlohmann::json> result = {};
  std::optional<std::int64_t> topology_id = {}, workload_id = {};
  /// Refuse (unavailable) unless this is the owner now: of two processes that resume one study, one
  /// gets it.
  std::optional<std::string> expected_owner = {};
};

/// Metric name to every single measurement, in the order in which they were taken. All finite. A
/// metric without values is not kept.
using Measurements = std::map<std::string, std::vector<double>>;

struct NewTrial {
  std::int64_t study_id = 0;
  TrialPhase phase = TrialPhase::search;
  nlohmann::json params = nlohmann::json::object();
};

/// How a trial ended.
struct TrialResult {
  TrialState state = TrialState::complete;  ///< complete, failed or timeout
  /// In the objective's unit; finite. A complete trial has a value.
  std::optional<double> value = {}, spread = {};
  /// Why it failed; any bytes, kept as they are.
  std::string message = {};
  Measurements measurements = {};
};

struct TrialRow {
  std::int64_t id = 0;  ///< never used again, even if the trial is removed
  std::int64_t study_id = 0;
  std::int64_t number = 0;  ///< 1, 2, … within the study
  TrialPhase phase = TrialPhase::search;
  TrialState state = TrialState::running;
  nlohmann::json params = nlohmann::json::object();
  std::optional<double> value, spread;
  std::string message;
  std::int64_t started_at_ns = 0;
  std::optional<std::int64_t> finished_at_ns;
  Measurements measurements;  ///< empty unless asked for

  bool operator==(const TrialRow&) const = default;
};

enum class TrialDetail { summary, with_measurements };

struct NewPromotion {
  std::int64_t topology_id = 0, workload_id = 0, study_id = 0;
  nlohmann::json config = nlohmann::json::object();
  double value = 0;          ///< of `config`, in the study's unit
  double default_value = 0;  ///< of the default configuration, measured beside it
  double gain = 0;           ///< of `value` over `default_value`, as the caller defines it
};

struct PromotionRow {
  std::int64_t id = 0;
  std::int64_t topology_id = 0, workload_id = 0, study_id = 0;
  nlohmann::json config = nlohmann::json::object();
  double value = 0, default_value = 0, gain = 0;
  std::int64_t promoted_at_ns = 0;

  bool operator==(const PromotionRow&) const = default;
};

/// Absent fields match everything.
struct PromotionFilter {
  std::optional<std::int64_t> topology_id = {}, workload_id = {}, study_id = {};
};

/// Lists are in the order of creation, the newest last.
class Store {
 public:
  virtual ~Store() = default;

  /// The id of the row with this fingerprint, inserted when it is new.
  virtual Result<std::int64_t> upsert_topology(const Topology& topology) = 0;
  virtual Result<std::int64_t> upsert_workload(const Workload& workload) = 0;

  virtual Result<std::vector<TopologyRow>> topologies() = 0;

  /// Those named `selector` or whose fingerprint starts with it; all when it is empty.
  virtual Result<std::vector<WorkloadRow>> workloads(std::string_view selector) = 0;

  /// invalid_argument when the name is taken; not_found for an unknown topology or workload.
  virtual Result<StudyRow> create_study(const NewStudy& study) = 0;

  virtual Result<void> update_study(std::int64_t study_id, const StudyUpdate& update) = 0;

  virtual Result<std::vector<StudyRow>> studies() = 0;

  /// By name, or by id when all are digits. not_found when there is none.
  virtual Result<StudyRow> study(std::string_view name_or_id) = 0;

  /// The newest study that is not finished, if any.
  virtual Result<std::optional<StudyRow>> latest_unfinished_study() = 0;

  /// Inserts a running trial with the study's next number.
  virtual Result<TrialRow> start_trial(const NewTrial& trial) = 0;

  /// Ends a running trial. Telling the same again is harmless; telling something else of a trial
  /// that has ended is invalid_argument; not_found for one that was removed.
  virtual Result<void> finish_trial(std::int64_t trial_id, const TrialResult& result) = 0;

  /// Removes the running trials of a study whose runner is gone, and returns how many there were.
  /// Removed rather than failed: an interruption says nothing about the parameters, and the resumed
  /// study takes up the same numbers as one that was never interrupted.
  virtual Result<std::int64_t> abandon_running_trials(std::int64_t study_id) = 0;

  /// not_found for an unknown study.
  virtual Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail) = 0;

  /// Makes `promotion` the current one of its topology and workload; earlier ones stay as history.
  virtual Result<PromotionRow> promote(const NewPromotion& promotion) = 0;

  /// The latest promotion for the two fingerprints, if any.
  virtual Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) = 0;

  virtual Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter) = 0;
};

}  // namespace hocket
