#include <algorithm>

#include "core/json.h"
#include "core/statistics.h"
#include "tuner/archive/told_trial.h"
#include "tuner/daemon/handlers/call.h"
#include "tuner/study_definition.h"

namespace hocket {
namespace {

constexpr std::int64_t kDefaultLeaseNs = 600'000'000'000;

nlohmann::json to_json(const StudyRow& study) {
  return {{"study", study.name},
          {"state", to_string(study.state)},
          {"owner", study.owner},
          {"command", study.command},
          {"definition", study.definition},
          {"created_at_ns", study.created_at_ns},
          {"updated_at_ns", study.updated_at_ns},
          {"result", study.result}};
}

nlohmann::json to_json(const TrialRow& trial) {
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

Result<std::int64_t> lease_of(const nlohmann::json& body) {
  if (!body.contains("lease_ns")) return kDefaultLeaseNs;
  return read_integer(body, "lease_ns", kShortestLeaseNs, kLongestLeaseNs);
}

Result<std::int64_t> trial_of(const nlohmann::json& body) {
  return read_integer(body, "trial", 1, std::numeric_limits<std::int64_t>::max());
}

Result<std::string> text_of(const nlohmann::json& body, const char* field, std::size_t most) {
  if (!body.contains(field)) return std::string();
  auto text = read_string(body, field);
  if (text && text->size() > most) {
    return failure(ErrorCode::invalid_argument,
                   std::string(field) + ": expected at most " + std::to_string(most) + " bytes");
  }
  return text;
}

Result<Measurements> measurements_of(const nlohmann::json& body) {
  Measurements measurements;
  if (!body.contains("measurements")) return measurements;
  const auto object = read_object(body, "measurements");
  if (!object) return failure(object.error());
  for (const auto& [metric, values] : object->items()) {
    const std::string path = "measurements." + metric;
    if (!values.is_array()) return failure(wrong_field(path, "an array of numbers", values));
    for (const auto& value : values) {
      const auto number = number_of(value, path, std::numeric_limits<double>::lowest(),
                                    std::numeric_limits<double>::max());
      if (!number) return failure(number.error());
      measurements[metric].push_back(*number);
    }
  }
  return measurements;
}

Result<TrialResult> result_of(const nlohmann::json& body) {
  const auto status = read_string(body, "status");
  if (!status) return failure(status.error());
  const auto state = parse_trial_state(*status);
  if (!state) return failure(state.error().in("status"));
  TrialResult result{.state = *state};
  auto measurements = measurements_of(body);
  if (!measurements) return failure(measurements.error());
  result.measurements = std::move(*measurements);
  auto message = text_of(body, "message", 65'536);
  if (!message) return failure(message.error());
  result.message = std::move(*message);
  for (const char* field : {"value", "spread"}) {
    if (!body.contains(field)) continue;
    const auto number = read_number(body, field);
    if (!number) return failure(number.error());
    (field == std::string_view("value") ? result.value : result.spread) = *number;
  }
  const auto samples = result.measurements.find(kSamplesMetric);
  if (result.state == TrialState::complete && samples != result.measurements.end() &&
      !samples->second.empty()) {
    if (!result.value) result.value = median(samples->second);
    if (!result.spread) result.spread = spread(samples->second);
  }
  return result;
}

}  // namespace

Result<Reply> list_studies(const Call& call) {
  const auto studies = call.parts.store.studies();
  if (!studies) return failure(studies.error());
  nlohmann::json list = nlohmann::json::array();
  for (const StudyRow& study : *studies) list.push_back(to_json(study));
  return json_response({{"studies", std::move(list)}});
}

Result<Reply> create_study(const Call& call) {
  const auto body = call.body();
  if (!body) return failure(body.error());
  const auto object = read_object(*body, "definition");
  if (!object) return failure(object.error());
  const auto definition = study_definition_from_json(*object);
  if (!definition) return failure(definition.error().in("definition"));
  NewStudy study;
  study.definition = to_json(*definition);
  study.owner = StudyService::kOwner;
  auto name = text_of(*body, "study", 100);
  if (!name) return failure(name.error());
  study.name = std::move(*name);
  if (body->contains("command")) {
    const auto words = read_array(*body, "command");
    if (!words) return failure(words.error());
    for (const auto& word : *words) {
      if (!word.is_string()) return failure(wrong_field("command", "an array of texts", word));
      study.command.push_back(word.get<std::string>());
    }
  }
  if (body->contains("topology")) {
    const auto topology = topology_from_json(body->at("topology"));
    if (!topology) return failure(topology.error().in("topology"));
    const auto id = call.parts.store.upsert_topology(*topology);
    if (!id) return failure(id.error());
    study.topology_id = *id;
  }
  if (body->contains("workload")) {
    const auto workload = workload_from_json(body->at("workload"));
    if (!workload) return failure(workload.error().in("workload"));
    const auto id = call.parts.store.upsert_workload(*workload);
    if (!id) return failure(id.error());
    study.workload_id = *id;
  }
  const auto row = call.parts.store.create_study(study);
  if (!row) return failure(row.error());
  return json_response(to_json(*row), 201);
}

Result<Reply> get_study(const Call& call) {
  const auto study = call.parts.store.study(call.study());
  if (!study) return failure(study.error());
  auto document = to_json(*study);
  if (study->owner == StudyService::kOwner) {
    const auto recommended = call.parts.studies.recommend(study->name);
    if (!recommended) return failure(recommended.error());
    if (*recommended) {
      document["recommended"] = {{"params", to_json((*recommended)->params)},
                                 {"expected", (*recommended)->expected},
                                 {"deviation", (*recommended)->deviation},
                                 {"reason", (*recommended)->reason}};
    }
  }
  return json_response(document);
}

Result<Reply> list_trials(const Call& call) {
  const auto study = call.parts.store.study(call.study());
  if (!study) return failure(study.error());
  const auto trials = call.parts.store.trials(study->id, TrialDetail::summary);
  if (!trials) return failure(trials.error());
  nlohmann::json list = nlohmann::json::array();
  for (const TrialRow& trial : *trials) list.push_back(to_json(trial));
  return json_response({{"study", study->name}, {"trials", std::move(list)}});
}

Result<Reply> ask(const Call& call) {
  const auto body = call.body();
  if (!body) return failure(body.error());
  auto worker = text_of(*body, "worker", 200);
  if (!worker) return failure(worker.error());
  const auto lease_ns = lease_of(*body);
  if (!lease_ns) return failure(lease_ns.error());
  const auto asked = call.parts.studies.ask(call.study(), *worker, *lease_ns);
  if (!asked) return failure(asked.error());
  nlohmann::json document = {{"reason", asked->reason}, {"finished", asked->is_finished}};
  if (asked->trial) document.update(to_json(*asked->trial));
  return json_response(document);
}

Result<Reply> tell(const Call& call) {
  const auto body = call.body();
  if (!body) return failure(body.error());
  const auto trial = trial_of(*body);
  if (!trial) return failure(trial.error());
  const auto result = result_of(*body);
  if (!result) return failure(result.error());
  const auto told = call.parts.studies.tell(call.study(), *trial, *result);
  if (!told) return failure(told.error());
  return json_response({{"trial", *trial}});
}

Result<Reply> renew(const Call& call) {
  const auto body = call.body();
  if (!body) return failure(body.error());
  const auto trial = trial_of(*body);
  if (!trial) return failure(trial.error());
  const auto lease_ns = lease_of(*body);
  if (!lease_ns) return failure(lease_ns.error());
  const auto until_ns = call.parts.studies.renew(call.study(), *trial, *lease_ns);
  if (!until_ns) return failure(until_ns.error());
  return json_response({{"trial", *trial}, {"lease_until_ns", *until_ns}});
}

}  // namespace hocket
