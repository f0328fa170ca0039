#include "core/protocol/job_message.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/check.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/description/step_programs.h"
#include "core/protocol/reported_values.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

// Largest integer that every JSON implementation represents exactly.
constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;
constexpr std::size_t kMaxTextBytes = 4096, kMaxIdBytes = 100, kMaxKnobBytes = 100;
constexpr std::size_t kMaxKnobs = 64, kMaxOutcomes = 1000;
constexpr double kMaxExplore = 0.5;

constexpr std::array<Word<ChangeStatus>, 3> kStatuses = {
    {{"applied", ChangeStatus::applied},
     {"rejected", ChangeStatus::rejected},
     {"rolled_back", ChangeStatus::rolled_back}}};

constexpr std::array<Word<TraceKind>, 3> kLaneKinds = {{{"compute", TraceKind::compute},
                                                        {"communication", TraceKind::communication},
                                                        {"copy", TraceKind::copy}}};

/// Reads a text of at most kMaxTextBytes.
void read_text(JsonReader& reader, const char* name, std::string& target,
               Presence presence = Presence::required) {
  reader.value(
      name, [&](const JsonValue& found) { target = found.text(kMaxTextBytes); }, presence);
}

void read_id(JsonReader& reader, const char* name, std::string& target) {
  reader.value(name, [&](const JsonValue& found) {
    target = found.text();
    const bool right = std::ranges::all_of(target, [](char c) {
      return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') ||
             c == '-' || c == '_' || c == '.';
    });
    if (!right || target.empty() || target.size() > kMaxIdBytes)
      found.refuse("1 to 100 letters, digits, \"-\", \"_\" or \".\"");
  });
}

void read_times(JsonReader& reader, const char* name, std::vector<std::int64_t>& target) {
  const auto read_one = [&](const JsonValue& time_ns) {
    target.push_back(time_ns.integer(1, kMaxInteger));
  };
  reader.array(name, read_one, kOptional, kMaxReportedIterations);
}

void read_outcome(JsonReader& reader, ChangeOutcome& outcome) {
  reader.choice("status", outcome.status, kStatuses);
  reader.integer("version", outcome.version, 1, kMaxInteger);
  reader.integer("trial", outcome.trial, 1, kMaxInteger);
  read_text(reader, "message", outcome.message, kOptional);
  read_times(reader, "current_ns", outcome.current_ns);
  read_times(reader, "candidate_ns", outcome.candidate_ns);
  reader.flag("slower", outcome.slower, false);
  if (outcome.version.has_value() == outcome.trial.has_value()) {
    reader.self().fail({ErrorCode::invalid_argument,
                        "expected exactly one of the fields \"version\" and \"trial\""});
  }
}

void read_lane(JsonReader& reader, LaneActivity& lane) {
  reader.choice("kind", lane.kind, kLaneKinds);
  reader.integer("lane", lane.lane, 0, kMaxInteger);
  reader.number("busy", lane.busy, 0, 1);
}

void read_activity(JsonReader& reader, JobActivity& activity) {
  reader.integer("exposed_ns", activity.exposed_ns, 0, kMaxInteger);
  const auto read_one = [&](const JsonValue& value) {
    LaneActivity lane;
    value.object([&](JsonReader& fields) { read_lane(fields, lane); });
    const auto place = [](const LaneActivity& l) { return std::pair(l.kind, l.lane); };
    if (!activity.lanes.empty() && place(activity.lanes.back()) >= place(lane)) {
      value.fail({ErrorCode::invalid_argument,
                  "expected lanes by kind (compute, communication, copy) and then by number, each "
                  "once"});
    }
    activity.lanes.push_back(lane);
  };
  reader.array("lanes", read_one, Presence::required, kMaxReportedLanes);
}

void read_predicted_time(JsonReader& reader, PredictedTime& prediction) {
  reader.part("config", prediction.config, read_schedule_config);
  reader.integer("iteration_ns", prediction.iteration_ns, 1, kMaxInteger);
}

void read_job(JsonReader& reader, JobDescription& job) {
  read_id(reader, "id", job.id);
  read_text(reader, "name", job.name, kOptional);
  read_text(reader, "host", job.host, kOptional);
  reader.part("topology", job.topology, read_topology);
  reader.part("workload", job.workload, read_workload);
  const auto read_config = [&](const JsonValue& value) {
    value.object([&](JsonReader& fields) { read_schedule_config(fields, job.config); });
    if (const auto ok = check_declared(job.config, job.workload.knobs); !ok) value.fail(ok.error());
  };
  reader.value("config", read_config);
  reader.integer("version", job.version, 0, kMaxInteger, 0);
  reader.number("explore", job.explore, 0, kMaxExplore, 0);
  const auto read_knob = [&](const JsonValue& value) {
    std::string name = value.text(kMaxKnobBytes);
    if (find_knob(name) == nullptr && find_declared(job.workload.knobs, name) == nullptr)
      value.fail(unknown_knob(name));
    if (std::ranges::count(job.knobs, name) > 0) {
      value.fail({ErrorCode::invalid_argument, "knob \"" + name + "\" is there twice"});
    }
    job.knobs.push_back(std::move(name));
  };
  reader.array("knobs", read_knob, kOptional, kMaxKnobs);
  reader.object(
      "can_run", [&](JsonReader& fields) { read_runnable_values(fields, job.can_run); }, kOptional);
  reader.part("step", job.step, [](JsonReader& fields, StepDescription& step) {
    read_step_description(fields, step);
    if (const auto ok = check_same_on_all_ranks(step, "live tuning"); !ok)
      fields.self().fail(ok.error());
  });
  reader.array(
      "predictions",
      [&](const JsonValue& value) {
        PredictedTime& prediction = job.predictions.emplace_back();
        value.object([&](JsonReader& fields) { read_predicted_time(fields, prediction); });
        const auto ok = check_declared(prediction.config, job.workload.knobs);
        if (!ok) value.fail(ok.error());
      },
      kOptional, kMaxPredictions);
}

void read_values(JsonReader& reader, std::map<std::string, double>& values) {
  reader.members([&](const std::string& name, const JsonValue& value) {
    if (!is_job_knob(knob_name_of(name)))
      value.fail({ErrorCode::invalid_argument, "a name has 1 to 64 of a-z, 0-9 and \"_\""});
    if (values.size() == kMaxReportedValues)
      value.fail({ErrorCode::invalid_argument,
                  "expected at most " + std::to_string(kMaxReportedValues) + " values"});
    values[name] = name == kOwnCostName ? value.number(0, kMostOwnCostPercent) : value.number();
  });
}

/// `ranks`: of all so far.
void read_counted(const JsonValue& value, std::vector<CountedSteps>& all, std::size_t& ranks) {
  value.object([&](JsonReader& fields) { read_counted_steps(fields, all.emplace_back()); });
  ranks += all.back().ranks.size();
  if (ranks > kMaxReportedCounters)
    value.fail({ErrorCode::invalid_argument, "expected counters of at most " +
                                                 std::to_string(kMaxReportedCounters) +
                                                 " ranks in all steps together"});
}

void read_job_report(JsonReader& reader, JobReport& report) {
  read_id(reader, "job", report.job);
  reader.integer("version", report.version, 0, kMaxInteger);
  reader.integer("step", report.step, 0, kMaxInteger);
  read_times(reader, "iteration_ns", report.iteration_ns);
  reader.parts("outcomes", report.outcomes, read_outcome, kMaxOutcomes, kOptional);
  reader.number("explored", report.explored, 0, 1, 0);
  reader.flag("ended", report.ended, false);
  reader.part("activity", report.activity, read_activity);
  reader.object(
      "values", [&](JsonReader& values) { read_values(values, report.values); }, kOptional);
  read_text(reader, "note", report.note, kOptional);
  std::size_t ranks = 0;
  reader.array(
      "counted", [&](const JsonValue& value) { read_counted(value, report.counted, ranks); },
      kOptional, kMaxReportedCounters);
}

void read_message(JsonReader& reader, ConfigMessage& message) {
  reader.integer("version", message.version, 1, kMaxInteger);
  reader.part("config", message.config, read_known_knobs);
  read_text(reader, "origin", message.origin);
  reader.flag("at_once", message.at_once, false);
}

void read_message(JsonReader& reader, CandidateMessage& message) {
  reader.integer("trial", message.trial, 1, kMaxInteger);
  reader.part("config", message.config, read_known_knobs);
}

void read_message(JsonReader& reader, ProfileMessage& message) {
  reader.integer("request", message.request, 1, kMaxInteger);
  reader.integer("iterations", message.iterations, 1, kMaxProfiledIterations);
}

nlohmann::json outcome_json(const ChangeOutcome& outcome) {
  nlohmann::json document = {{"status", to_string(outcome.status)},
                             {"message", outcome.message},
                             {"current_ns", outcome.current_ns},
                             {"candidate_ns", outcome.candidate_ns}};
  if (outcome.version) document["version"] = *outcome.version;
  if (outcome.trial) document["trial"] = *outcome.trial;
  if (outcome.slower) document["slower"] = true;
  return document;
}

}  // namespace

nlohmann::json to_json(const JobDescription& job) {
  nlohmann::json document = {{"id", job.id},
                             {"name", job.name},
                             {"host", job.host},
                             {"topology", to_json(job.topology)},
                             {"workload", to_json(job.workload)},
                             {"config", to_json(job.config)},
                             {"version", job.version},
                             {"explore", job.explore},
                             {"knobs", job.knobs}};
  if (job.can_run != RunnableValues{}) document["can_run"] = to_json(job.can_run);
  if (job.step) document["step"] = to_json(*job.step);
  for (const PredictedTime& prediction : job.predictions) {
    document["predictions"].push_back(
        {{"config", to_json(prediction.config)}, {"iteration_ns", prediction.iteration_ns}});
  }
  return document;
}

Result<std::vector<PredictedTime>> parse_predictions(std::string_view text) {
  std::vector<PredictedTime> predictions;
  const auto document = parse_object("{\"predictions\":" + std::string(text) + "}", "predictions");
  HOCKET_TRY(document);
  JsonReader reader(*document);
  reader.parts("predictions", predictions, read_predicted_time, kMaxPredictions);
  return reader.result(std::move(predictions));
}

Result<JobDescription> job_description_from_json(const nlohmann::json& document) {
  return read_json(document, read_job);
}

std::string_view type_of(const DaemonMessage& message) {
  if (std::holds_alternative<ConfigMessage>(message)) return "config";
  return std::holds_alternative<CandidateMessage>(message) ? "candidate" : "profile";
}

nlohmann::json to_json(const DaemonMessage& message) {
  if (const auto* const config = std::get_if<ConfigMessage>(&message)) {
    nlohmann::json document = {{"version", config->version},
                               {"config", to_json(config->config)},
                               {"origin", config->origin}};
    if (config->at_once) document["at_once"] = true;
    return document;
  }
  if (const auto* const profile = std::get_if<ProfileMessage>(&message)) {
    return {{"request", profile->request}, {"iterations", profile->iterations}};
  }
  const auto& candidate = std::get<CandidateMessage>(message);
  return {{"trial", candidate.trial}, {"config", to_json(candidate.config)}};
}

Result<DaemonMessage> daemon_message_from_json(std::string_view type,
                                               const nlohmann::json& document) {
  if (type == "config") return read_json<ConfigMessage>(document, read_message);
  if (type == "candidate") return read_json<CandidateMessage>(document, read_message);
  if (type == "profile") return read_json<ProfileMessage>(document, read_message);
  return failure(ErrorCode::invalid_argument,
                 "event type: expected config, candidate or profile, found " +
                     nlohmann::json(type.substr(0, 60))
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string_view to_string(ChangeStatus status) {
  return std::ranges::find(kStatuses, status, &Word<ChangeStatus>::value)->word;
}

nlohmann::json to_json(const JobActivity& activity) {
  auto lanes = nlohmann::json::array();
  for (const LaneActivity& lane : activity.lanes) {
    const auto* const kind = std::ranges::find(kLaneKinds, lane.kind, &Word<TraceKind>::value);
    HOCKET_CHECK(kind != kLaneKinds.end(), "a lane of a report is a stream or a channel");
    lanes.push_back({{"kind", kind->word}, {"lane", lane.lane}, {"busy", lane.busy}});
  }
  return {{"exposed_ns", activity.exposed_ns}, {"lanes", std::move(lanes)}};
}

nlohmann::json to_json(const JobReport& report) {
  auto outcomes = nlohmann::json::array();
  for (const auto& outcome : report.outcomes) outcomes.push_back(outcome_json(outcome));
  nlohmann::json document = {{"job", report.job},
                             {"version", report.version},
                             {"step", report.step},
                             {"iteration_ns", report.iteration_ns},
                             {"outcomes", std::move(outcomes)},
                             {"explored", report.explored},
                             {"ended", report.ended}};
  if (report.activity) document["activity"] = to_json(*report.activity);
  if (!report.values.empty()) document["values"] = report.values;
  if (!report.note.empty()) document["note"] = report.note;
  for (const CountedSteps& counted : report.counted)
    document["counted"].push_back(to_json(counted));
  return document;
}

Result<JobReport> job_report_from_json(const nlohmann::json& document) {
  return read_json(document, read_job_report);
}

}  // namespace hocket
