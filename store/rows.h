#pragma once

// The rows of a store, and the values to create and select them (store/store.h). Plain values.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/topology.h"
#include "core/protocol/trial_outcome.h"
#include "core/protocol/workload.h"

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

/// Creator of a study, which decides who runs its trials.
enum class StudyOrigin {
  tune,  ///< `hocket tune` on this host, which runs the study's command
  http,  ///< a client of the daemon: its workers run it, and this host never runs its command
  live,  ///< the daemon, for live tuning
};

std::string_view to_string(StudyOrigin origin);

/// Owners of studies that no process of `hocket tune` runs.
inline constexpr const char* kWorkersOwner = "workers";      ///< for the origin http
inline constexpr const char* kDaemonOwner = "hocket serve";  ///< for the origin live

struct NewStudy {
  /// 1 to 100 letters, digits, ".", "_" and "-", not starting with "-", and not only digits, which
  /// would be an id, or only dots, which name folders. Empty: generated from the workload's name,
  /// else the command's ("gpt2-7").
  std::string name;
  std::vector<std::string> command;
  /// Everything that resuming needs: space, objective, seed, budget, time limits.
  nlohmann::json definition = nlohmann::json::object();
  /// Identity of the runner; the store only compares it.
  std::string owner;
  std::optional<std::int64_t> topology_id, workload_id;
  StudyOrigin origin = StudyOrigin::tune;
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
  std::int64_t updated_at_ns = 0;  ///< last update of the study or one of its trials
  nlohmann::json result;           ///< null until set
  StudyOrigin origin = StudyOrigin::tune;

  bool operator==(const StudyRow&) const = default;
};

/// Changes of a study; absent fields stay unchanged.
struct StudyUpdate {
  std::optional<StudyState> state = {};
  std::optional<std::string> owner = {};
  std::optional<nlohmann::json> definition = {};
  std::optional<nlohmann::json> result = {};
  std::optional<std::int64_t> topology_id = {}, workload_id = {};
  /// Refuses (unavailable) unless this is the current owner, so that only one of two processes
  /// resumes a study.
  std::optional<std::string> expected_owner = {};
};

struct NewTrial {
  std::int64_t study_id = 0;
  TrialPhase phase = TrialPhase::search;
  nlohmann::json params = nlohmann::json::object();
  std::string worker = {};  ///< identity of the worker, if a study has several; UTF-8
  /// Length of the worker's lease, which begins now; absent for a trial that the study runs itself.
  std::optional<std::int64_t> lease_ns = {};
  /// Waits for a worker to claim it. `worker` may then name the only one that may claim it (empty:
  /// any), and `lease_ns` is ignored: the lease begins with the claim.
  bool is_offered = false;
};

/// The store keeps the output of this many trials, the newest ones that have any: 64 MiB.
inline constexpr std::int64_t kMostTrialOutputs = 1'000;

struct TrialRow {
  std::int64_t id = 0;  ///< never reused, even if the trial is removed
  std::int64_t study_id = 0;
  std::int64_t number = 0;  ///< 1, 2, … within the study
  TrialPhase phase = TrialPhase::search;
  TrialState state = TrialState::running;
  nlohmann::json params = nlohmann::json::object();
  std::optional<double> value, spread;
  std::string message;
  std::int64_t started_at_ns = 0;
  std::optional<std::int64_t> finished_at_ns;
  Measurements measurements;  ///< empty unless requested
  /// The worker that runs the trial; while it is offered, the only one that may, or empty: any.
  std::string worker = {};
  std::optional<std::int64_t> lease_until_ns = {};
  bool is_offered = false;  ///< the trial is running and waits for a worker to claim it
  std::int64_t losses = 0;  ///< number of times that its worker was lost

  bool operator==(const TrialRow&) const = default;
};

/// A worker's lease on a study, and on the trial that it runs.
struct NewClaim {
  std::string worker = {};    ///< names the worker within the study; 1 to 255 bytes of UTF-8
  std::string host = {};      ///< UTF-8
  std::int64_t lease_ns = 0;  ///< length of the lease, which begins now
};

/// A worker that claims trials of a study.
struct WorkerRow {
  std::string name = {};
  std::string host = {};
  std::int64_t joined_at_ns = 0;
  std::int64_t lease_until_ns = 0;

  bool operator==(const WorkerRow&) const = default;
};

enum class TrialDetail { summary, with_measurements };

/// The gain of a promotion, as a study measured it.
struct MeasuredGain {
  double value = 0;          ///< value of the configuration, in the study's unit
  double default_value = 0;  ///< value of the default configuration, measured beside it
  double gain = 0;           ///< gain of `value` over `default_value`, as the caller defines it

  bool operator==(const MeasuredGain&) const = default;
};

/// The origin of a promotion.
enum class PromotionOrigin {
  study,     ///< won a study, which the row names
  live,      ///< won against the current configuration while a job trained
  push,      ///< set by an operator
  rollback,  ///< restored by an operator from an earlier version
  pin,       ///< set by an operator, to stay
  imported,  ///< found elsewhere, and taken from a file (core/sharing/shared_configs.h)
};

enum class PromotionStage {
  staged,     ///< tried by canaries, and used by jobs of the owners that have kept it
  released,   ///< used by every job
  withdrawn,  ///< taken back
  held,       ///< used by no job: recorded while the key was pinned, or no job could try it
};

std::string_view to_string(PromotionOrigin origin);
std::string_view to_string(PromotionStage stage);
Result<PromotionOrigin> parse_promotion_origin(std::string_view text);
Result<PromotionStage> parse_promotion_stage(std::string_view text);

struct NewPromotion {
  std::int64_t topology_id = 0, workload_id = 0;
  std::optional<std::int64_t> study_id = {};  ///< required if the origin is a study
  nlohmann::json config = nlohmann::json::object();
  std::optional<MeasuredGain> measured = {};
  PromotionOrigin origin = PromotionOrigin::study;
  PromotionStage stage = PromotionStage::released;  ///< staged or released
  std::string actor = {};                           ///< the person or program; UTF-8
  std::string note = {};                            ///< the reason; UTF-8
  /// Owners of jobs that have kept it, of a staged version (PromotionRow::kept_by).
  std::vector<std::string> kept_by = {};
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
  std::string removed_study = {};  ///< name of its study, once that is removed; otherwise empty
  /// The parameters that its study declares (core/step/declaration.h), or those of the version
  /// whose configuration it is again; empty if there are none.
  nlohmann::json declared = nlohmann::json::object();
  /// Names of the tokens whose jobs have kept it: while it is staged, jobs of these owners get it.
  std::vector<std::string> kept_by = {};
  /// Origin of an imported version: NewImport::provenance, its digest and time; otherwise empty.
  nlohmann::json provenance = nlohmann::json::object();

  bool operator==(const PromotionRow&) const = default;
};

/// A configuration that was found elsewhere, with the key to which it belongs.
struct NewImport {
  Topology topology = {};
  Workload workload = {};
  nlohmann::json config = nlohmann::json::object();    ///< not empty
  nlohmann::json declared = nlohmann::json::object();  ///< as PromotionRow::declared
  std::optional<MeasuredGain> measured = {};           ///< where it was found
  std::int64_t at_ns = 0;                              ///< Unix time of its promotion there
  std::string digest = {};  ///< names it with its evidence: equal ones are the same
  /// Further facts of its origin, which the importer keeps and the store does not interpret.
  nlohmann::json provenance = nlohmann::json::object();
  std::string note = {};  ///< where it comes from, for people; UTF-8
};

enum class ImportAction {
  imported,  ///< it is a new version, which jobs get
  same,      ///< it is the current version already
  kept,      ///< the key has a configuration of its own
  refused,   ///< it was tried here and taken back, or an operator has decided otherwise
};

std::string_view to_string(ImportAction action);

struct ImportOutcome {
  ImportAction action = ImportAction::imported;
  std::string why = {};      ///< reason for kept and refused, for people
  std::int64_t version = 0;  ///< that jobs get from now on; 0: none, or not made in a dry run

  bool operator==(const ImportOutcome&) const = default;
};

/// Returns whether jobs of `owner` that start may get a version: if it is released, or the owner's
/// jobs have kept it. The empty owner stands for readers without a token.
bool is_for(const PromotionRow& version, std::string_view owner);

/// Returns the version of one key that jobs of `owner` get, the newest that is for them; null if
/// there is none. `versions` are in the order of their ids.
const PromotionRow* newest_for(const std::vector<PromotionRow>& versions, std::string_view owner);

/// Absent fields match everything.
struct PromotionFilter {
  std::optional<std::int64_t> topology_id = {}, workload_id = {}, study_id = {};
  std::optional<ConfigKey> key = {};
  std::optional<PromotionStage> stage = {};
};

/// Operators' settings for a key.
struct KeyState {
  bool pinned = false;  ///< results of tuning are held, and the current version stays
  bool frozen = false;  ///< nothing is tried on jobs; the store only records it

  bool operator==(const KeyState&) const = default;
};

struct KeyRow {
  std::int64_t topology_id = 0, workload_id = 0;
  ConfigKey key = {};
  std::string topology_name = {}, workload_name = {};
  KeyState state = {};
  std::optional<std::int64_t> current_id = {};  ///< id of the current promotion
  bool is_at_default = false;  ///< the current promotion says that there is no configuration

  bool operator==(const KeyRow&) const = default;
};

/// A configuration that must not be tried again for a key.
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

/// An event for the audit. All texts are UTF-8.
struct NewAudit {
  std::string actor = {};
  std::string action = {};
  std::string subject = {};  ///< text of a key (core/protocol/config_key.h) or a study's name
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
  /// `limit` selects the newest rows instead of the oldest; the order is the same.
  bool newest = false;
};

/// Most entries that one call removes from the audit, so that others wait for it only briefly.
inline constexpr std::int64_t kMostPrunedAuditEntries = 10'000;

/// One rank of a profile.
struct ProfileRank {
  std::int64_t rank = 0;
  std::string host = {};  ///< UTF-8
  /// Absolute path, or the URL of a trace that a daemon serves (store/trace_url.h); empty if the
  /// trace is missing.
  std::string trace_path = {};
  std::int64_t records = 0, dropped = 0, quarantined = 0;
  nlohmann::json clock_fit = nlohmann::json::object();  ///< to_json(ClockFit)

  bool operator==(const ProfileRank&) const = default;
};

/// An iteration of one rank.
struct ProfileIteration {
  std::int64_t rank = 0, step = 0;
  std::int64_t begin_ns = 0;  ///< on the rank's clock
  std::int64_t wall_ns = 0, compute_ns = 0, communication_ns = 0, exposed_ns = 0;

  bool operator==(const ProfileIteration&) const = default;
};

/// A metric of a profile; the job's if `rank` is absent.
struct ProfileMetric {
  std::optional<std::int64_t> rank = {};
  std::string name = {};  ///< as in docs/METRICS.md
  double value = 0;       ///< finite

  bool operator==(const ProfileMetric&) const = default;
};

struct NewProfile {
  /// As in NewStudy; empty: generated from the workload's name, else "profile" ("gpt2-7").
  std::string name = {};
  std::string source = {};  ///< as in RankTrace
  std::optional<std::int64_t> topology_id = {}, workload_id = {};
  nlohmann::json config = nlohmann::json::object();  ///< ScheduleConfig, or empty
  /// The step's structure (docs/formats/profile.md), or empty.
  nlohmann::json structure = nlohmann::json::object();
  /// Further remarks, and reasons for missing data: {"notes": […], "overhead": {…}}.
  nlohmann::json detail = nlohmann::json::object();
  std::vector<ProfileRank> ranks = {};
  std::vector<ProfileIteration> iterations = {};
  std::vector<ProfileMetric> metrics = {};
};

/// A profile without its iterations and metrics, which are read by id.
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
  bool kept = false;  ///< prune does not remove it

  bool operator==(const ProfileRow&) const = default;
};

/// A request to profile a running job.
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
  /// The job that took the request; absent until one has.
  std::optional<std::string> taken_by = {};  ///< id of a job

  bool operator==(const ProfileRequestRow&) const = default;
};

}  // namespace hocket
