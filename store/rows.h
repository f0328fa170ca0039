#pragma once

// The rows of a store, and what is asked of it to make and find them (store/store.h). Plain values.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/trial_status.h"

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
  std::string worker = {};  ///< who runs it, where a study has several; UTF-8
  /// Until when the worker has it (Unix time); absent for a trial that is its study's own.
  std::optional<std::int64_t> lease_until_ns = {};
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
  std::string worker = {};
  std::optional<std::int64_t> lease_until_ns = {};

  bool operator==(const TrialRow&) const = default;
};

enum class TrialDetail { summary, with_measurements };

/// What a promotion gains, as a study measured it.
struct MeasuredGain {
  double value = 0;          ///< of the configuration, in the study's unit
  double default_value = 0;  ///< of the default configuration, measured beside it
  double gain = 0;           ///< of `value` over `default_value`, as the caller defines it

  bool operator==(const MeasuredGain&) const = default;
};

/// How a configuration came to be promoted.
enum class PromotionOrigin {
  study,     ///< won a study, which the row names
  live,      ///< won against the one before while a job trained
  push,      ///< somebody gave it
  rollback,  ///< somebody brought an earlier one back
  pin,       ///< somebody gave it, to stay
};

enum class PromotionStage {
  staged,     ///< a canary tries it
  released,   ///< every job gets it
  withdrawn,  ///< taken back
  held,       ///< recorded while the key was pinned; no job gets it
};

std::string_view to_string(PromotionOrigin origin);
std::string_view to_string(PromotionStage stage);
Result<PromotionOrigin> parse_promotion_origin(std::string_view text);
Result<PromotionStage> parse_promotion_stage(std::string_view text);

struct NewPromotion {
  std::int64_t topology_id = 0, workload_id = 0;
  std::optional<std::int64_t> study_id = {};  ///< required when a study is the origin
  nlohmann::json config = nlohmann::json::object();
  std::optional<MeasuredGain> measured = {};
  PromotionOrigin origin = PromotionOrigin::study;
  PromotionStage stage = PromotionStage::released;  ///< staged or released
  std::string actor = {};                           ///< who; UTF-8
  std::string note = {};                            ///< why; UTF-8
};

/// One version of a key's configuration; its id is the version's number.
struct PromotionRow {
  std::int64_t id = 0;
  std::int64_t topology_id = 0, workload_id = 0;
  std::optional<std::int64_t> study_id = {};
  nlohmann::json config = nlohmann::json::object();
  std::optional<MeasuredGain> measured = {};
  std::int64_t promoted_at_ns = 0;
  PromotionOrigin origin = PromotionOrigin::study;
  PromotionStage stage = PromotionStage::released;
  std::string actor = {}, note = {};

  bool operator==(const PromotionRow&) const = default;
};

/// Absent fields match everything.
struct PromotionFilter {
  std::optional<std::int64_t> topology_id = {}, workload_id = {}, study_id = {};
  std::optional<ConfigKey> key = {};
  std::optional<PromotionStage> stage = {};
};

/// What operators have said about a key.
struct KeyState {
  bool pinned = false;  ///< what tuning finds is held, and the current version stays
  bool frozen = false;  ///< nothing is tried on jobs; the store only keeps it

  bool operator==(const KeyState&) const = default;
};

struct KeyRow {
  std::int64_t topology_id = 0, workload_id = 0;
  ConfigKey key = {};
  std::string topology_name = {}, workload_name = {};
  KeyState state = {};
  std::optional<std::int64_t> current_id = {};  ///< of the current promotion

  bool operator==(const KeyRow&) const = default;
};

/// A configuration that is not to be tried again for a key.
struct NewQuarantine {
  std::int64_t topology_id = 0, workload_id = 0;
  nlohmann::json config = nlohmann::json::object();
  std::string reason = {};  ///< UTF-8
  std::string actor = {};   ///< UTF-8
};

struct QuarantineRow {
  std::int64_t id = 0;
  std::int64_t topology_id = 0, workload_id = 0;
  nlohmann::json config = nlohmann::json::object();
  std::string reason = {}, actor = {};
  std::int64_t quarantined_at_ns = 0;

  bool operator==(const QuarantineRow&) const = default;
};

/// An event worth keeping. All texts are UTF-8.
struct NewAudit {
  std::string actor = {};
  std::string action = {};
  std::string subject = {};  ///< a key's text (core/protocol/config_key.h) or a study's name
  nlohmann::json detail = nlohmann::json::object();
};

struct AuditRow {
  std::int64_t id = 0;
  std::int64_t at_ns = 0;
  std::string actor = {}, action = {}, subject = {};
  nlohmann::json detail = nlohmann::json::object();

  bool operator==(const AuditRow&) const = default;
};

/// Absent fields match everything.
struct AuditFilter {
  std::int64_t after_id = 0;
  std::optional<std::uint32_t> limit = {};
  std::optional<std::string> subject = {};
  bool newest = false;  ///< `limit` keeps the newest rows, not the oldest; the order is the same
};

/// A rank's part of a profile.
struct ProfileRank {
  std::int64_t rank = 0;
  std::string host = {};        ///< UTF-8
  std::string trace_path = {};  ///< absolute; empty: its trace is missing
  std::int64_t records = 0, dropped = 0, quarantined = 0;
  nlohmann::json clock_fit = nlohmann::json::object();  ///< of to_json(ClockFit)

  bool operator==(const ProfileRank&) const = default;
};

/// An iteration of one rank.
struct ProfileIteration {
  std::int64_t rank = 0, step = 0;
  std::int64_t begin_ns = 0;  ///< of the rank's clock
  std::int64_t wall_ns = 0, compute_ns = 0, communication_ns = 0, exposed_ns = 0;

  bool operator==(const ProfileIteration&) const = default;
};

/// A figure of a profile. `rank` absent: of the job.
struct ProfileMetric {
  std::optional<std::int64_t> rank = {};
  std::string name = {};  ///< as docs/METRICS.md has it
  double value = 0;       ///< finite

  bool operator==(const ProfileMetric&) const = default;
};

struct NewProfile {
  /// As NewStudy's; empty: generated from the workload's name, else "profile" ("gpt2-7").
  std::string name = {};
  std::string source = {};  ///< as RankTrace's
  std::optional<std::int64_t> topology_id = {}, workload_id = {};
  nlohmann::json config = nlohmann::json::object();  ///< ScheduleConfig, or empty
  /// What the step submits (docs/formats/profile.md), or empty.
  nlohmann::json structure = nlohmann::json::object();
  /// What else there is to say, and why something is missing: {"notes": […], "overhead": {…}}.
  nlohmann::json detail = nlohmann::json::object();
  std::vector<ProfileRank> ranks = {};
  std::vector<ProfileIteration> iterations = {};
  std::vector<ProfileMetric> metrics = {};
};

/// Without iterations and metrics, which are asked for by id.
struct ProfileRow {
  std::int64_t id = 0;
  std::string name = {};
  std::string source = {};
  std::optional<std::int64_t> topology_id = {}, workload_id = {};
  nlohmann::json config = nlohmann::json::object();
  nlohmann::json structure = nlohmann::json::object();
  nlohmann::json detail = nlohmann::json::object();
  std::vector<ProfileRank> ranks = {};
  std::int64_t created_at_ns = 0;
  bool kept = false;  ///< prune leaves it

  bool operator==(const ProfileRow&) const = default;
};

/// Somebody wants a running job profiled.
struct NewProfileRequest {
  std::string job = {};  ///< JobDescription::id or its name, UTF-8
  std::int64_t iterations = 0;
  std::string actor = {};
};

struct ProfileRequestRow {
  std::int64_t id = 0;
  std::string job = {};
  std::int64_t iterations = 0;
  std::string actor = {};
  std::int64_t requested_at_ns = 0;
  /// What became of it; absent while nobody has taken it.
  std::optional<std::string> taken_by = {};  ///< a job's id

  bool operator==(const ProfileRequestRow&) const = default;
};

}  // namespace hocket
