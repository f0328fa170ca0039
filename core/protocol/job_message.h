#pragma once

// What a running job and the daemon tell each other, as values with one JSON form each
// (docs/openapi.json). Readers refuse what is out of range, with an error that names the field.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// How a running job presents itself.
struct JobDescription {
  /// Chosen by the job, the same for as long as it runs: 1 to 100 letters, digits, "-", "_", ".".
  std::string id;
  std::string name = {};  ///< for people
  std::string host = {};
  Topology topology = {};
  Workload workload = {};
  ScheduleConfig config = {};  ///< what it runs with
  std::int64_t version = 0;    ///< of `config`; 0: not one of the daemon's
  double explore = 0;          ///< share of its time that trying candidates may cost, 0 to 0.5
  std::vector<std::string> knobs = {};       ///< what it can change while it runs
  std::optional<StepDescription> step = {};  ///< of one step, for the model of the search

  bool operator==(const JobDescription&) const = default;
};

nlohmann::json to_json(const JobDescription& job);
Result<JobDescription> job_description_from_json(const nlohmann::json& document);

/// A version of the configuration for the job's key, to be tried and kept unless it is slower.
struct ConfigMessage {
  std::int64_t version = 0;  ///< above 0
  ScheduleConfig config;
  std::string origin;  ///< for people: "study gpt2-3, 2026-11-21"

  bool operator==(const ConfigMessage&) const = default;
};

/// A setting that this job alone is to try, within its budget.
struct CandidateMessage {
  std::int64_t trial = 0;  ///< above 0
  ScheduleConfig config;

  bool operator==(const CandidateMessage&) const = default;
};

/// Somebody wants some iterations of the job profiled.
struct ProfileMessage {
  std::int64_t request = 0;     ///< above 0, later ones higher; a job takes each up once
  std::int64_t iterations = 0;  ///< 1 to kMaxProfiledIterations

  bool operator==(const ProfileMessage&) const = default;
};

inline constexpr std::int64_t kMaxProfiledIterations = 10'000;

using DaemonMessage = std::variant<ConfigMessage, CandidateMessage, ProfileMessage>;

/// The event's type: "config", "candidate" or "profile".
std::string_view type_of(const DaemonMessage& message);
nlohmann::json to_json(const DaemonMessage& message);
/// `type` is the event's. invalid_argument for another one.
Result<DaemonMessage> daemon_message_from_json(std::string_view type,
                                               const nlohmann::json& document);

enum class ChangeStatus {
  applied,      ///< the job keeps it
  rejected,     ///< not tried: a rank refused it, or it came too late
  rolled_back,  ///< tried, and the job is back on what it had
};

std::string_view to_string(ChangeStatus status);

/// What became of a message.
struct ChangeOutcome {
  /// Exactly one of the two.
  std::optional<std::int64_t> version = {}, trial = {};
  ChangeStatus status = ChangeStatus::applied;
  std::string message = {};  ///< why, for people
  /// Iterations measured within the window, in order: under what the job had, and under the new
  /// configuration. Both are empty when it was not tried.
  std::vector<std::int64_t> current_ns = {}, candidate_ns = {};

  bool operator==(const ChangeOutcome&) const = default;
};

/// What a stream or channel was busy for.
struct LaneActivity {
  TraceKind kind = TraceKind::compute;  ///< compute: a stream; communication: a channel; or copy
  std::int64_t lane = 0;
  double busy = 0;  ///< share of the time, 0 to 1

  bool operator==(const LaneActivity&) const = default;
};

/// How iterations spent their time on one rank.
struct JobActivity {
  /// Communication beside which nothing was computed: the median of the iterations.
  std::int64_t exposed_ns = 0;
  std::vector<LaneActivity> lanes = {};  ///< by kind and then by lane, each once

  bool operator==(const JobActivity&) const = default;
};

inline constexpr std::size_t kMaxReportedLanes = 256;

nlohmann::json to_json(const JobActivity& activity);

struct JobReport {
  std::string job;           ///< JobDescription::id
  std::int64_t version = 0;  ///< of what it runs with now; 0: not one of the daemon's
  std::int64_t step = 0;     ///< the last one measured
  /// Iterations since the last report, in order, under what the job runs with after `outcomes`;
  /// also those within a window, which tries something else in turn.
  std::vector<std::int64_t> iteration_ns = {};
  std::vector<ChangeOutcome> outcomes = {};
  /// Share of the job's time that trying has cost so far.
  double explored = 0;
  /// The job's last report. A rejection in it says nothing about the configuration.
  bool ended = false;
  /// Of rank 0, over `iteration_ns`, where the job measures it.
  std::optional<JobActivity> activity = {};

  bool operator==(const JobReport&) const = default;
};

/// Of `iteration_ns`, `current_ns` and `candidate_ns` each.
inline constexpr std::size_t kMaxReportedIterations = 10'000;

nlohmann::json to_json(const JobReport& report);
Result<JobReport> job_report_from_json(const nlohmann::json& document);

}  // namespace hocket
