#pragma once

// Messages between a running job and the daemon, as values with one JSON form each
// (docs/openapi.json). Readers refuse values out of range with an error that names the field. Pure.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/protocol/rank_counters.h"
#include "core/protocol/runnable_values.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// The iteration time that a job expects of a configuration before anything was measured.
struct PredictedTime {
  ScheduleConfig config;
  std::int64_t iteration_ns = 0;  ///< above 0

  bool operator==(const PredictedTime&) const = default;
};

inline constexpr std::size_t kMaxPredictions = 200;

/// Description that a running job registers with.
struct JobDescription {
  /// Chosen by the job and constant while it runs: 1 to 100 letters, digits, "-", "_", ".".
  std::string id;
  /// Name for people.
  std::string name = {};
  std::string host = {};
  Topology topology = {};
  Workload workload = {};
  /// Configuration that the job runs with.
  ScheduleConfig config = {};
  /// Version of `config`; 0 when it is not one of the daemon's.
  std::int64_t version = 0;
  /// Exploration budget: share of the job's time that trying candidates may cost, 0 to 0.5.
  double explore = 0;
  /// Knobs that the tuner may vary while the job runs, each once (core/step/schedule_config.h).
  std::vector<std::string> knobs = {};
  /// Values that the job can run. An older job does not say.
  RunnableValues can_run = {};
  /// Description of one step, for the search's model.
  std::optional<StepDescription> step = {};
  /// For the search to begin with; at most kMaxPredictions.
  std::vector<PredictedTime> predictions = {};

  bool operator==(const JobDescription&) const = default;
};

/// Parses `[{"config":{…},"iteration_ns":1200000},…]`.
Result<std::vector<PredictedTime>> parse_predictions(std::string_view text);

nlohmann::json to_json(const JobDescription& job);
Result<JobDescription> job_description_from_json(const nlohmann::json& document);

/// A version of the configuration for the job's key. The job tries it and keeps it unless it is
/// slower, or takes it at once.
struct ConfigMessage {
  /// Above 0.
  std::int64_t version = 0;
  ScheduleConfig config;
  /// Origin, for people: "study gpt2-3, 2026-11-21".
  std::string origin;
  /// An operator went back to it or pinned it: the job takes it without measuring it.
  bool at_once = false;

  bool operator==(const ConfigMessage&) const = default;
};

/// A setting that only this job tries, within its exploration budget.
struct CandidateMessage {
  /// Above 0.
  std::int64_t trial = 0;
  ScheduleConfig config;

  bool operator==(const CandidateMessage&) const = default;
};

/// A request to profile some iterations of the job.
struct ProfileMessage {
  /// Above 0 and increasing; a job serves each request once.
  std::int64_t request = 0;
  /// From 1 to kMaxProfiledIterations.
  std::int64_t iterations = 0;

  bool operator==(const ProfileMessage&) const = default;
};

inline constexpr std::int64_t kMaxProfiledIterations = 10'000;

using DaemonMessage = std::variant<ConfigMessage, CandidateMessage, ProfileMessage>;

/// Returns the event's type: "config", "candidate" or "profile".
std::string_view type_of(const DaemonMessage& message);
nlohmann::json to_json(const DaemonMessage& message);
/// Parses an event of `type`; invalid_argument for an unknown type.
Result<DaemonMessage> daemon_message_from_json(std::string_view type,
                                               const nlohmann::json& document);

enum class ChangeStatus {
  /// The job keeps it.
  applied,
  /// The configuration was not tried, since a rank refused it or it came too late; or the job
  /// ended before it could decide on the version.
  rejected,
  /// Tried; the job has returned to its previous configuration.
  rolled_back,
};

std::string_view to_string(ChangeStatus status);

/// Result of a ConfigMessage or CandidateMessage.
struct ChangeOutcome {
  /// Exactly one of the two is set.
  std::optional<std::int64_t> version = {}, trial = {};
  ChangeStatus status = ChangeStatus::applied;
  /// Reason, for people.
  std::string message = {};
  /// Iterations measured within the A/B window, in order, under the current configuration and under
  /// the new one. Both are empty when it was not tried.
  std::vector<std::int64_t> current_ns = {}, candidate_ns = {};
  /// It was slower than the noise explains.
  bool slower = false;

  bool operator==(const ChangeOutcome&) const = default;
};

/// Busy time of a stream, channel or copy engine.
struct LaneActivity {
  /// compute for a stream, communication for a channel, or copy.
  TraceKind kind = TraceKind::compute;
  std::int64_t lane = 0;
  /// Busy share of the time, 0 to 1.
  double busy = 0;

  bool operator==(const LaneActivity&) const = default;
};

/// Use of the iterations' time on one rank.
struct JobActivity {
  /// Exposed communication: median over the iterations.
  std::int64_t exposed_ns = 0;
  /// Sorted by kind and then by lane, each once.
  std::vector<LaneActivity> lanes = {};

  bool operator==(const JobActivity&) const = default;
};

inline constexpr std::size_t kMaxReportedLanes = 256;

nlohmann::json to_json(const JobActivity& activity);

struct JobReport {
  /// Id of the job, JobDescription::id.
  std::string job;
  /// Version that the job runs with now; 0 when it is not one of the daemon's.
  std::int64_t version = 0;
  /// The last step measured.
  std::int64_t step = 0;
  /// Iterations since the last report, in order, under the configuration that the job has after
  /// `outcomes`. Includes those within an A/B window, which alternate with another configuration.
  std::vector<std::int64_t> iteration_ns = {};
  std::vector<ChangeOutcome> outcomes = {};
  /// Share of the job's time that exploration has cost so far.
  double explored = 0;
  /// True in the job's last report. A rejection in that report says nothing about the
  /// configuration.
  bool ended = false;
  /// Activity of rank 0 during `iteration_ns`; absent when the job does not measure it.
  std::optional<JobActivity> activity = {};
  /// The latest values that the job measured itself. Names are like those of declared knobs and end
  /// in the unit ("transfer_us").
  std::map<std::string, double> values = {};
  /// A line for people on what the job does.
  std::string note = {};
  /// The ranks' counters since the last report, in order, whatever configuration they had; of at
  /// most kMaxReportedCounters ranks together. Empty when the job does not count.
  std::vector<CountedSteps> counted = {};

  bool operator==(const JobReport&) const = default;
};

/// Maximum length of each of `iteration_ns`, `current_ns` and `candidate_ns`.
inline constexpr std::size_t kMaxReportedIterations = 10'000;
/// Most of `values`.
inline constexpr std::size_t kMaxReportedValues = 32;

nlohmann::json to_json(const JobReport& report);
Result<JobReport> job_report_from_json(const nlohmann::json& document);

}  // namespace hocket
