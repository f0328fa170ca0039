#include "core/protocol/job_message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/check.h"
#include "core/base/json.h"

namespace hocket {
namespace {

// Largest integer that every JSON implementation represents exactly.
constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;
constexpr std::size_t kMaxTextBytes = 4096, kMaxIdBytes = 100;
constexpr std::size_t kMaxKnobs = 64, kMaxOutcomes = 1000;
constexpr double kMaxExplore = 0.5;

Error invalid(const char* field, const std::string& expected) {
  return {ErrorCode::invalid_argument, std::string("field \"") + field + "\": " + expected};
}

/// Moves a value into `target`, or returns its error.
template <class T, class Target>
Result<void> take(Result<T> value, Target& target) {
  if (!value) return failure(value.error());
  target = std::move(*value);
  return {};
}

/// Calls `read()` unless the field is absent, in which case the target keeps its default.
template <class Read>
Result<void> if_there(const nlohmann::json& object, const char* field, const Read& read) {
  return object.is_object() && object.contains(field) ? read() : Result<void>();
}

Result<void> read_integer_into(const nlohmann::json& object, const char* field, std::int64_t low,
                               std::int64_t& target) {
  return take(read_integer(object, field, low, kMaxInteger), target);
}

Result<void> read_text(const nlohmann::json& object, const char* field, std::string& target) {
  auto text = read_string(object, field);
  if (!text) return failure(text.error());
  if (text->size() > kMaxTextBytes) {
    return failure(invalid(field, "expected at most " + std::to_string(kMaxTextBytes) +
                                      " bytes, found " + std::to_string(text->size())));
  }
  target = std::move(*text);
  return {};
}

Result<void> read_id(const nlohmann::json& object, const char* field, std::string& target) {
  auto text = read_string(object, field);
  if (!text) return failure(text.error());
  const bool right = std::ranges::all_of(*text, [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!right || text->empty() || text->size() > kMaxIdBytes) {
    return failure(wrong_field(field, "1 to 100 letters, digits, \"-\", \"_\" or \".\"", *text));
  }
  target = std::move(*text);
  return {};
}

/// Reads an object field with `from_json`.
template <class Read, class Target>
Result<void> read_part(const nlohmann::json& document, const char* field, const Read& from_json,
                       Target& target) {
  const auto object = read_object(document, field);
  if (!object) return failure(object.error());
  auto value = from_json(*object);
  if (!value) return failure(value.error().in(std::string("field \"") + field + "\""));
  target = std::move(*value);
  return {};
}

Result<void> read_config(const nlohmann::json& document, ScheduleConfig& target) {
  const auto read = [](const nlohmann::json& object) { return schedule_config_from_json(object); };
  return read_part(document, "config", read, target);
}

Result<void> read_times(const nlohmann::json& object, const char* field,
                        std::vector<std::int64_t>& target) {
  const auto array = read_array(object, field);
  if (!array) return failure(array.error());
  if (array->size() > kMaxReportedIterations) {
    return failure(invalid(field, "expected at most " + std::to_string(kMaxReportedIterations) +
                                      " iterations, found " + std::to_string(array->size())));
  }
  target.reserve(array->size());
  for (const auto& entry : *array) {
    const auto time_ns = integer_of(entry, field, 1, kMaxInteger);
    if (!time_ns) return failure(time_ns.error());
    target.push_back(*time_ns);
  }
  return {};
}

Result<void> read_knobs(const nlohmann::json& object, std::vector<std::string>& target) {
  const auto array = read_array(object, "knobs");
  if (!array) return failure(array.error());
  if (array->size() > kMaxKnobs) {
    return failure(invalid("knobs", "expected at most " + std::to_string(kMaxKnobs) +
                                        " names, found " + std::to_string(array->size())));
  }
  for (const auto& entry : *array) {
    if (!entry.is_string() || entry.get_ref<const std::string&>().size() > kMaxIdBytes)
      return failure(wrong_field("knobs", "names of at most 100 bytes", entry));
    target.push_back(entry.get<std::string>());
  }
  return {};
}

template <class... Reads>
Result<void> all_of(const Reads&... reads) {
  Result<void> ok;
  ((ok = reads(), ok.has_value()) && ...);
  return ok;
}

constexpr std::array<ChangeStatus, 3> kStatuses = {ChangeStatus::applied, ChangeStatus::rejected,
                                                   ChangeStatus::rolled_back};

Result<void> read_status(const nlohmann::json& object, ChangeStatus& target) {
  const auto text = read_string(object, "status");
  if (!text) return failure(text.error());
  const auto* const found =
      std::ranges::find(kStatuses, *text, [](ChangeStatus s) { return to_string(s); });
  if (found == kStatuses.end())
    return failure(wrong_field("status", "applied, rejected or rolled_back", *text));
  target = *found;
  return {};
}

nlohmann::json outcome_json(const ChangeOutcome& outcome) {
  nlohmann::json document = {{"status", to_string(outcome.status)},
                             {"message", outcome.message},
                             {"current_ns", outcome.current_ns},
                             {"candidate_ns", outcome.candidate_ns}};
  if (outcome.version) document["version"] = *outcome.version;
  if (outcome.trial) document["trial"] = *outcome.trial;
  return document;
}

Result<ChangeOutcome> outcome_from_json(const nlohmann::json& document) {
  ChangeOutcome outcome;
  const auto number = [&](const char* field, std::optional<std::int64_t>& target) {
    return if_there(document, field,
                    [&] { return take(read_integer(document, field, 1, kMaxInteger), target); });
  };
  const auto times = [&](const char* field, std::vector<std::int64_t>& target) {
    return if_there(document, field, [&] { return read_times(document, field, target); });
  };
  const auto ok = all_of([&] { return read_status(document, outcome.status); },
                         [&] { return number("version", outcome.version); },
                         [&] { return number("trial", outcome.trial); },
                         [&] {
                           return if_there(document, "message", [&] {
                             return read_text(document, "message", outcome.message);
                           });
                         },
                         [&] { return times("current_ns", outcome.current_ns); },
                         [&] { return times("candidate_ns", outcome.candidate_ns); });
  if (!ok) return failure(ok.error());
  if (outcome.version.has_value() == outcome.trial.has_value()) {
    return failure(ErrorCode::invalid_argument,
                   "expected exactly one of the fields \"version\" and \"trial\"");
  }
  return outcome;
}

Result<void> read_outcomes(const nlohmann::json& document, std::vector<ChangeOutcome>& target) {
  const auto array = read_array(document, "outcomes");
  if (!array) return failure(array.error());
  if (array->size() > kMaxOutcomes) {
    return failure(invalid("outcomes", "expected at most " + std::to_string(kMaxOutcomes) +
                                           ", found " + std::to_string(array->size())));
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    auto outcome = outcome_from_json((*array)[i]);
    if (!outcome)
      return failure(outcome.error().in("field \"outcomes[" + std::to_string(i) + "]\""));
    target.push_back(std::move(*outcome));
  }
  return {};
}

constexpr std::array<std::pair<TraceKind, const char*>, 3> kLaneKinds = {
    {{TraceKind::compute, "compute"},
     {TraceKind::communication, "communication"},
     {TraceKind::copy, "copy"}}};

Result<LaneActivity> lane_from_json(const nlohmann::json& document) {
  LaneActivity lane;
  const auto kind = read_string(document, "kind");
  if (!kind) return failure(kind.error());
  const auto* const found =
      std::ranges::find_if(kLaneKinds, [&](const auto& known) { return known.second == *kind; });
  if (found == kLaneKinds.end())
    return failure(wrong_field("kind", "compute, communication or copy", *kind));
  lane.kind = found->first;
  const auto ok = all_of([&] { return read_integer_into(document, "lane", 0, lane.lane); },
                         [&] { return take(read_number(document, "busy", 0, 1), lane.busy); });
  if (!ok) return failure(ok.error());
  return lane;
}

Result<JobActivity> activity_from_json(const nlohmann::json& document) {
  JobActivity activity;
  if (auto ok = read_integer_into(document, "exposed_ns", 0, activity.exposed_ns); !ok)
    return failure(ok.error());
  const auto array = read_array(document, "lanes");
  if (!array) return failure(array.error());
  if (array->size() > kMaxReportedLanes) {
    return failure(invalid("lanes", "expected at most " + std::to_string(kMaxReportedLanes) +
                                        ", found " + std::to_string(array->size())));
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    const std::string at = "field \"lanes[" + std::to_string(i) + "]\"";
    auto lane = lane_from_json((*array)[i]);
    if (!lane) return failure(lane.error().in(at));
    const auto place = [](const LaneActivity& l) { return std::pair(l.kind, l.lane); };
    if (!activity.lanes.empty() && place(activity.lanes.back()) >= place(*lane)) {
      return failure(ErrorCode::invalid_argument,
                     at + ": expected lanes by kind (compute, communication, copy) and then by "
                          "number, each once");
    }
    activity.lanes.push_back(*lane);
  }
  return activity;
}

/// Reads a boolean; leaves `flag` unchanged when the field is absent.
Result<void> read_flag(const nlohmann::json& object, const char* field, bool& flag) {
  const auto found = object.find(field);
  if (found == object.end()) return {};
  if (!found->is_boolean()) return failure(wrong_field(field, "true or false", *found));
  flag = found->get<bool>();
  return {};
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
  if (job.step) document["step"] = to_json(*job.step);
  return document;
}

Result<JobDescription> job_description_from_json(const nlohmann::json& document) {
  JobDescription job;
  const auto optional_text = [&](const char* field, std::string& target) {
    return if_there(document, field, [&] { return read_text(document, field, target); });
  };
  const auto read_step = [](const nlohmann::json& object) {
    return parse_step_description(
        object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  const auto ok = all_of(
      [&] { return read_id(document, "id", job.id); },
      [&] { return optional_text("name", job.name); },
      [&] { return optional_text("host", job.host); },
      [&] { return read_part(document, "topology", topology_from_json, job.topology); },
      [&] { return read_part(document, "workload", workload_from_json, job.workload); },
      [&] { return read_config(document, job.config); },
      [&] {
        return if_there(document, "version",
                        [&] { return read_integer_into(document, "version", 0, job.version); });
      },
      [&] {
        return if_there(document, "explore", [&] {
          return take(read_number(document, "explore", 0, kMaxExplore), job.explore);
        });
      },
      [&] { return if_there(document, "knobs", [&] { return read_knobs(document, job.knobs); }); },
      [&] {
        return if_there(document, "step",
                        [&] { return read_part(document, "step", read_step, job.step); });
      });
  if (!ok) return failure(ok.error());
  return job;
}

std::string_view type_of(const DaemonMessage& message) {
  if (std::holds_alternative<ConfigMessage>(message)) return "config";
  return std::holds_alternative<CandidateMessage>(message) ? "candidate" : "profile";
}

nlohmann::json to_json(const DaemonMessage& message) {
  if (const auto* const config = std::get_if<ConfigMessage>(&message)) {
    return {{"version", config->version},
            {"config", to_json(config->config)},
            {"origin", config->origin}};
  }
  if (const auto* const profile = std::get_if<ProfileMessage>(&message)) {
    return {{"request", profile->request}, {"iterations", profile->iterations}};
  }
  const auto& candidate = std::get<CandidateMessage>(message);
  return {{"trial", candidate.trial}, {"config", to_json(candidate.config)}};
}

Result<DaemonMessage> daemon_message_from_json(std::string_view type,
                                               const nlohmann::json& document) {
  if (type == "config") {
    ConfigMessage message;
    const auto ok =
        all_of([&] { return read_integer_into(document, "version", 1, message.version); },
               [&] { return read_config(document, message.config); },
               [&] { return read_text(document, "origin", message.origin); });
    if (!ok) return failure(ok.error());
    return message;
  }
  if (type == "candidate") {
    CandidateMessage message;
    const auto ok = all_of([&] { return read_integer_into(document, "trial", 1, message.trial); },
                           [&] { return read_config(document, message.config); });
    if (!ok) return failure(ok.error());
    return message;
  }
  if (type == "profile") {
    ProfileMessage message;
    const auto ok =
        all_of([&] { return read_integer_into(document, "request", 1, message.request); },
               [&] {
                 return take(read_integer(document, "iterations", 1, kMaxProfiledIterations),
                             message.iterations);
               });
    if (!ok) return failure(ok.error());
    return message;
  }
  return failure(ErrorCode::invalid_argument,
                 "event type: expected config, candidate or profile, found " +
                     nlohmann::json(type.substr(0, 60))
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string_view to_string(ChangeStatus status) {
  switch (status) {
    case ChangeStatus::applied:
      return "applied";
    case ChangeStatus::rejected:
      return "rejected";
    case ChangeStatus::rolled_back:
      return "rolled_back";
  }
  return "";
}

nlohmann::json to_json(const JobActivity& activity) {
  auto lanes = nlohmann::json::array();
  for (const LaneActivity& lane : activity.lanes) {
    const auto* const kind =
        std::ranges::find(kLaneKinds, lane.kind, &std::pair<TraceKind, const char*>::first);
    HOCKET_CHECK(kind != kLaneKinds.end(), "a lane of a report is a stream or a channel");
    lanes.push_back({{"kind", kind->second}, {"lane", lane.lane}, {"busy", lane.busy}});
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
  return document;
}

Result<JobReport> job_report_from_json(const nlohmann::json& document) {
  JobReport report;
  const auto ok = all_of(
      [&] { return read_id(document, "job", report.job); },
      [&] { return read_integer_into(document, "version", 0, report.version); },
      [&] { return read_integer_into(document, "step", 0, report.step); },
      [&] {
        return if_there(document, "iteration_ns",
                        [&] { return read_times(document, "iteration_ns", report.iteration_ns); });
      },
      [&] {
        return if_there(document, "outcomes",
                        [&] { return read_outcomes(document, report.outcomes); });
      },
      [&] {
        return if_there(document, "explored", [&] {
          return take(read_number(document, "explored", 0, 1), report.explored);
        });
      },
      [&] { return read_flag(document, "ended", report.ended); },
      [&] {
        return if_there(document, "activity", [&] {
          return read_part(document, "activity", activity_from_json, report.activity);
        });
      });
  if (!ok) return failure(ok.error());
  return report;
}

}  // namespace hocket
