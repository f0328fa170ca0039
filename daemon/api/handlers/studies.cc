#include <algorithm>
#include <nlohmann/json.hpp>

#include "archive/studies/study_state.h"
#include "core/base/json_reader.h"
#include "core/base/statistics.h"
#include "daemon/api/handlers/call.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

constexpr std::int64_t kDefaultLeaseNs = 600'000'000'000;

/// Replaces paths in the command by names of files unless an administrator asks.
nlohmann::json study_json(const RouteCall& call, const StudyRow& study) {
  std::vector<std::string> command = study.command;
  nlohmann::json definition = study.definition;
  if (call.who.role != AccessRole::admin) {
    for (std::string& argument : command) argument = with_file_names(argument);
    const auto folder = definition.find("working_directory");
    if (folder != definition.end() && folder->is_string())
      *folder = with_file_names(folder->get<std::string>());
  }
  return {{"id", study.id},
          {"study", study.name},
          {"state", shown_state(study)},
          {"owner", study.owner},
          {"origin", to_string(study.origin)},
          {"command", std::move(command)},
          {"definition", std::move(definition)},
          {"created_at_ns", study.created_at_ns},
          {"updated_at_ns", study.updated_at_ns},
          {"result", study.result}};
}

nlohmann::json trial_json(const TrialRow& trial) {
  nlohmann::json document = {{"trial", trial.id},
                             {"number", trial.number},
                             {"phase", to_string(trial.phase)},
                             {"status", to_string(trial.state)},
                             {"params", trial.params},
                             {"message", trial.message},
                             {"worker", trial.worker},
                             {"started_at_ns", trial.started_at_ns}};
  if (trial.value) document["value"] = *trial.value;
  if (trial.spread) document["spread"] = *trial.spread;
  if (trial.finished_at_ns) document["finished_at_ns"] = *trial.finished_at_ns;
  if (trial.lease_until_ns) document["lease_until_ns"] = *trial.lease_until_ns;
  return document;
}

void read_lease(JsonReader& reader, std::int64_t& lease_ns) {
  reader.integer("lease_ns", lease_ns, kShortestLeaseNs, kLongestLeaseNs, kDefaultLeaseNs);
}

void read_trial(JsonReader& reader, std::int64_t& trial) {
  reader.integer("trial", trial, 1, std::numeric_limits<std::int64_t>::max());
}

void read_text(JsonReader& reader, const char* name, std::string& target, std::size_t most_bytes) {
  reader.value(
      name, [&](const JsonValue& found) { target = found.text(most_bytes); }, kOptional);
}

void read_measurements(JsonReader& reader, Measurements& measurements) {
  reader.members([&](const std::string& metric, const JsonValue& values) {
    values.array([&](const JsonValue& value) { measurements[metric].push_back(value.number()); });
  });
}

void read_outcome(JsonReader& reader, TrialOutcome& outcome) {
  reader.value("status", [&](const JsonValue& status) {
    status.take(parse_trial_state(status.text()), outcome.state);
  });
  Measurements measurements;
  const auto read_samples = [&](JsonReader& fields) { read_measurements(fields, measurements); };
  reader.object("measurements", read_samples, kOptional);
  take_measurements(outcome, std::move(measurements));
  read_text(reader, "message", outcome.message, 65'536);
  read_text(reader, "stdout", outcome.output.stdout_text, kTrialOutputLimitBytes);
  read_text(reader, "stderr", outcome.output.stderr_text, kTrialOutputLimitBytes);
  reader.number("value", outcome.value);
  reader.number("spread", outcome.spread);
}

/// Takes value and spread from the samples where the worker gives none.
void summarize(TrialOutcome& outcome) {
  if (outcome.state != TrialState::complete || outcome.samples.empty()) return;
  if (!outcome.value) outcome.value = median(outcome.samples);
  if (!outcome.spread) outcome.spread = spread(outcome.samples);
}

Result<ServiceReply> list_studies(const RouteCall& call) {
  UnreadRows unread;
  const auto studies = call.parts.store.studies(&unread);
  HOCKET_TRY(studies);
  nlohmann::json list = nlohmann::json::array();
  for (const StudyRow& study : *studies) list.push_back(study_json(call, study));
  return json_response(with_unread({{"studies", std::move(list)}}, unread));
}

Result<ServiceReply> create_study(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  NewStudy study;
  std::optional<Topology> topology;
  std::optional<Workload> workload;
  JsonReader reader(*body);
  reader.value("definition", [&](const JsonValue& found) {
    found.take(study_definition_from_json(found.json()).map([](const StudyDefinition& definition) {
      return to_json(definition);
    }),
               study.definition);
  });
  read_text(reader, "study", study.name, 100);
  reader.texts("command", study.command, kOptional);
  reader.part("topology", topology, read_topology);
  reader.part("workload", workload, read_workload);
  HOCKET_TRY(reader.done());
  study.owner = StudyService::kOwner;
  study.origin = StudyOrigin::http;
  if (topology) {
    const auto id = call.parts.store.upsert_topology(*topology);
    HOCKET_TRY(id);
    study.topology_id = *id;
  }
  if (workload) {
    const auto id = call.parts.store.upsert_workload(*workload);
    HOCKET_TRY(id);
    study.workload_id = *id;
  }
  const auto row = call.parts.store.create_study(study);
  HOCKET_TRY(row);
  return json_response(study_json(call, *row), 201);
}

Result<ServiceReply> get_study(const RouteCall& call) {
  const auto study = call.parts.store.study(call.study());
  HOCKET_TRY(study);
  auto document = study_json(call, *study);
  // To recommend, a search catches up with its study, which may end leases in the store.
  if (call.parts.is_daemon && study->owner == StudyService::kOwner) {
    const auto recommended = call.parts.studies.recommend(study->name);
    HOCKET_TRY(recommended);
    if (*recommended) {
      document["recommended"] = {{"params", to_json((*recommended)->params)},
                                 {"expected", (*recommended)->expected},
                                 {"deviation", (*recommended)->deviation},
                                 {"reason", (*recommended)->reason}};
    }
  }
  return json_response(document);
}

Result<ServiceReply> list_trials(const RouteCall& call) {
  const auto study = call.parts.store.study(call.study());
  HOCKET_TRY(study);
  UnreadRows unread;
  const auto trials = call.parts.store.trials(study->id, TrialDetail::summary, &unread);
  HOCKET_TRY(trials);
  nlohmann::json list = nlohmann::json::array();
  for (const TrialRow& trial : *trials) list.push_back(trial_json(trial));
  return json_response(with_unread({{"study", study->name}, {"trials", std::move(list)}}, unread));
}

Result<ServiceReply> ask(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  std::string worker;
  std::int64_t lease_ns = 0;
  JsonReader reader(*body);
  read_text(reader, "worker", worker, 200);
  read_lease(reader, lease_ns);
  HOCKET_TRY(reader.done());
  const auto asked = call.parts.studies.ask(call.study(), worker, lease_ns);
  HOCKET_TRY(asked);
  nlohmann::json document = {{"reason", asked->reason}, {"finished", asked->is_finished}};
  if (asked->trial) document.update(trial_json(*asked->trial));
  return json_response(document);
}

Result<ServiceReply> tell(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  std::int64_t trial = 0;
  TrialOutcome outcome;
  JsonReader reader(*body);
  read_trial(reader, trial);
  read_outcome(reader, outcome);
  HOCKET_TRY(reader.done());
  summarize(outcome);
  HOCKET_TRY(call.parts.studies.tell(call.study(), trial, outcome));
  return json_response({{"trial", trial}});
}

Result<ServiceReply> renew(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  std::int64_t trial = 0, lease_ns = 0;
  JsonReader reader(*body);
  read_trial(reader, trial);
  read_lease(reader, lease_ns);
  HOCKET_TRY(reader.done());
  const auto until_ns = call.parts.studies.renew(call.study(), trial, lease_ns);
  HOCKET_TRY(until_ns);
  return json_response({{"trial", trial}, {"lease_until_ns", *until_ns}});
}

}  // namespace

std::span<const ApiRoute> study_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"GET", "/v1/studies", AccessRole::read, list_studies},
      {"POST", "/v1/studies", AccessRole::report, create_study},
      {"GET", "/v1/studies/{study}", AccessRole::read, get_study, RequestLabour::search},
      {"GET", "/v1/studies/{study}/trials", AccessRole::read, list_trials, RequestLabour::search},
      {"POST", "/v1/studies/{study}/ask", AccessRole::report, ask, RequestLabour::search},
      {"POST", "/v1/studies/{study}/tell", AccessRole::report, tell, RequestLabour::search},
      {"POST", "/v1/studies/{study}/renew", AccessRole::report, renew, RequestLabour::search},
  };
  return kRoutes;
}

}  // namespace hocket
