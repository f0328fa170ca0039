#include "archive/workers/trial_messages.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json_reader.h"

namespace hocket {
namespace {

constexpr std::int64_t kMostInteger = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostHostBytes = 255;
/// Limit for each stream: a stored text and the line that says what was left out, each byte as at
/// most two.
constexpr std::size_t kMostOutputTextBytes = 2 * (kTrialOutputLimitBytes + 100);

constexpr std::array<Word<StudyState>, 3> kStates = {{{"running", StudyState::running},
                                                      {"finished", StudyState::finished},
                                                      {"interrupted", StudyState::interrupted}}};
constexpr std::array<Word<StudyOrigin>, 3> kOrigins = {
    {{"tune", StudyOrigin::tune}, {"http", StudyOrigin::http}, {"live", StudyOrigin::live}}};
constexpr std::array<Word<TrialPhase>, 2> kPhases = {
    {{"search", TrialPhase::search}, {"confirm", TrialPhase::confirm}}};
constexpr std::array<Word<TrialState>, 3> kEnds = {{{"complete", TrialState::complete},
                                                    {"failed", TrialState::failed},
                                                    {"timeout", TrialState::timeout}}};

void read_id(JsonReader& reader, const char* name, std::int64_t& id) {
  reader.integer(name, id, 1, kMostInteger);
}

/// Leaves `answer.trial` empty after an error.
void read_claimed(JsonReader& reader, ClaimAnswer& answer) {
  Trial trial;
  std::int64_t number = 0;
  std::optional<Params> params;
  std::optional<StudyDefinition> definition;
  read_id(reader, "trial", trial.id);
  read_id(reader, "number", number);
  reader.choice("phase", trial.phase, kPhases);
  reader.value("params",
               [&](const JsonValue& found) { found.take(params_from_json(found.json()), params); });
  reader.value("definition", [&](const JsonValue& found) {
    found.take(study_definition_from_json(found.json()), definition);
  });
  reader.array("incumbent",
               [&](const JsonValue& value) { answer.incumbent.push_back(value.number()); });
  reader.flag("has_report", answer.has_report);
  if (!params || !definition) return;
  trial.number = number - 1;
  trial.params = std::move(*params);
  answer.trial = std::move(trial);
  answer.definition = std::move(*definition);
}

void read_output(JsonReader& reader, const char* name, std::string& target) {
  reader.value(
      name,
      [&](const JsonValue& found) {
        found.take(text_bytes(found.text(kMostOutputTextBytes)), target);
      },
      kOptional);
}

void read_report(JsonReader& reader, RunReport& report) {
  reader.part("topology", report.topology, read_topology);
  reader.part("workload", report.workload, read_workload);
}

void read_samples(JsonReader& reader, Measurements& measurements) {
  reader.members([&](const std::string& metric, const JsonValue& values) {
    auto& samples = measurements[metric];
    values.array([&](const JsonValue& value) { samples.push_back(value.number()); });
  });
}

/// Keeps every `stride`th value of each metric, the first of them always.
Measurements thinned(const Measurements& measurements, std::size_t stride) {
  Measurements kept;
  for (const auto& [metric, values] : measurements) {
    for (std::size_t i = 0; i < values.size(); i += stride) kept[metric].push_back(values[i]);
  }
  return kept;
}

std::size_t longest(const Measurements& measurements) {
  std::size_t longest = 0;
  for (const auto& [metric, values] : measurements) longest = std::max(longest, values.size());
  return longest;
}

}  // namespace

std::string message_text(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string bytes_text(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

Result<std::string> text_bytes(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes += text[i];
      continue;
    }
    // U+0080 to U+00FF are two bytes, which begin with 0xC2 or 0xC3.
    if ((lead != 0xc2 && lead != 0xc3) || i + 1 == text.size())
      return invalid("expected characters from U+0000 to U+00FF, which stand for bytes");
    bytes += static_cast<char>(lead << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f));
  }
  return bytes;
}

nlohmann::json to_json(const WorkerClaim& claim) {
  nlohmann::json document = {{"worker", claim.lease.worker},
                             {"host", claim.lease.host},
                             {"lease_ns", claim.lease.lease_ns}};
  if (claim.time_left_ns) document["time_left_ns"] = *claim.time_left_ns;
  return document;
}

void read_worker_claim(JsonReader& reader, WorkerClaim& claim) {
  reader.text("worker", claim.lease.worker);
  reader.value(
      "host", [&](const JsonValue& found) { claim.lease.host = found.text(kMostHostBytes); },
      kOptional);
  reader.integer("lease_ns", claim.lease.lease_ns, 1, kMostInteger);
  reader.integer("time_left_ns", claim.time_left_ns, -kMostInteger, kMostInteger);
}

nlohmann::json to_json(const ClaimAnswer& answer) {
  nlohmann::json document = {{"id", answer.study.id},
                             {"study", answer.study.name},
                             {"state", to_string(answer.study.state)},
                             {"longest_trial_ns", answer.longest_trial_ns}};
  if (!answer.trial) return document;
  document["command"] = answer.study.command;
  document["claimed"] = {{"trial", answer.trial->id},
                         {"number", shown_number(*answer.trial)},
                         {"phase", to_string(answer.trial->phase)},
                         {"params", to_json(answer.trial->params)},
                         {"definition", to_json(*answer.definition)},
                         {"incumbent", answer.incumbent},
                         {"has_report", answer.has_report}};
  return document;
}

Result<ClaimAnswer> claim_answer_from_json(const nlohmann::json& document) {
  ClaimAnswer answer;
  JsonReader reader(document);
  read_id(reader, "id", answer.study.id);
  reader.text("study", answer.study.name);
  reader.choice("state", answer.study.state, kStates);
  reader.integer("longest_trial_ns", answer.longest_trial_ns, 0, kMostInteger);
  reader.texts("command", answer.study.command, kOptional);
  reader.object(
      "claimed", [&](JsonReader& fields) { read_claimed(fields, answer); }, kOptional);
  return reader.result(std::move(answer));
}

Result<StudyRow> study_from_json(const nlohmann::json& document) {
  if (!document.contains("id")) {
    return invalid(
        "it is of a version whose studies no worker joins over HTTP; start one of this version");
  }
  StudyRow study;
  JsonReader reader(document);
  read_id(reader, "id", study.id);
  reader.text("study", study.name);
  reader.choice("state", study.state, kStates);
  reader.choice("origin", study.origin, kOrigins);
  reader.text("owner", study.owner);
  reader.texts("command", study.command);
  reader.value("definition", [&](const JsonValue& found) { study.definition = found.json(); });
  return reader.result(std::move(study));
}

nlohmann::json ended_trial_json(const Trial& trial) {
  const TrialOutcome& outcome = trial.outcome;
  nlohmann::json document = {{"trial", trial.id},
                             {"worker", trial.worker},
                             {"status", to_string(outcome.state)},
                             {"message", outcome.message},
                             {"measurements", measurements_of(outcome)},
                             {"stdout", bytes_text(outcome.output.stdout_text)},
                             {"stderr", bytes_text(outcome.output.stderr_text)}};
  if (outcome.value) document["value"] = *outcome.value;
  if (outcome.spread) document["spread"] = *outcome.spread;
  if (outcome.report) {
    document["report"] = {{"topology", to_json(outcome.report->topology)},
                          {"workload", to_json(outcome.report->workload)}};
  }
  return document;
}

void read_ended_trial(JsonReader& reader, Trial& trial) {
  TrialOutcome& outcome = trial.outcome;
  Measurements measurements;
  read_id(reader, "trial", trial.id);
  reader.value("worker", [&](const JsonValue& found) {
    trial.worker = found.text();
    // Without one the outcome would count whoever has the trial.
    if (trial.worker.empty()) found.refuse("the name of the worker that has the trial");
  });
  reader.choice("status", outcome.state, kEnds);
  reader.text("message", outcome.message, "");
  reader.object(
      "measurements", [&](JsonReader& fields) { read_samples(fields, measurements); }, kOptional);
  take_measurements(outcome, std::move(measurements));
  read_output(reader, "stdout", outcome.output.stdout_text);
  read_output(reader, "stderr", outcome.output.stderr_text);
  reader.number("value", outcome.value);
  reader.number("spread", outcome.spread);
  reader.part("report", outcome.report, read_report);
}

Trial thinned_trial(Trial trial, std::size_t limit_bytes) {
  const Measurements all = measurements_of(trial.outcome);
  const std::string message = trial.outcome.message;
  for (std::size_t stride = 2; message_text(ended_trial_json(trial)).size() > limit_bytes;
       stride *= 2) {
    take_measurements(trial.outcome, thinned(all, stride));
    trial.outcome.message = message + (message.empty() ? "" : "; ") + "kept 1 of every " +
                            std::to_string(stride) +
                            " measurements, since a daemon takes no longer result";
    if (stride >= longest(all)) break;
  }
  return trial;
}

}  // namespace hocket
