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
/// Of each stream: a stored text and the line that says what was left out, each byte as at most
/// two.
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

/// Leaves `trial` empty after an error.
void read_claimed(JsonReader& reader, std::optional<ClaimedTrial>& trial) {
  TrialRow row;
  std::optional<StudyDefinition> definition;
  std::vector<double> incumbent;
  bool has_report = false;
  read_id(reader, "trial", row.id);
  read_id(reader, "number", row.number);
  reader.choice("phase", row.phase, kPhases);
  reader.value("params", [&](const JsonValue& found) { row.params = found.json(); });
  reader.value("definition", [&](const JsonValue& found) {
    found.take(study_definition_from_json(found.json()), definition);
  });
  reader.array("incumbent", [&](const JsonValue& value) { incumbent.push_back(value.number()); });
  reader.flag("has_report", has_report);
  if (!definition) return;
  trial = ClaimedTrial{std::move(row), std::move(*definition), std::move(incumbent), has_report};
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
  const ClaimedTrial& trial = *answer.trial;
  document["command"] = answer.study.command;
  document["claimed"] = {{"trial", trial.row.id},
                         {"number", trial.row.number},
                         {"phase", to_string(trial.row.phase)},
                         {"params", trial.row.params},
                         {"definition", to_json(trial.definition)},
                         {"incumbent", trial.incumbent},
                         {"has_report", trial.has_report}};
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
      "claimed", [&](JsonReader& fields) { read_claimed(fields, answer.trial); }, kOptional);
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

nlohmann::json to_json(const TrialEnd& end) {
  const TrialResult& result = end.result;
  nlohmann::json document = {{"trial", end.trial_id},
                             {"worker", result.worker},
                             {"status", to_string(result.state)},
                             {"message", result.message},
                             {"measurements", result.measurements},
                             {"stdout", bytes_text(result.output.stdout_text)},
                             {"stderr", bytes_text(result.output.stderr_text)}};
  if (result.value) document["value"] = *result.value;
  if (result.spread) document["spread"] = *result.spread;
  if (end.report) {
    document["report"] = {{"topology", to_json(end.report->topology)},
                          {"workload", to_json(end.report->workload)}};
  }
  return document;
}

void read_trial_end(JsonReader& reader, TrialEnd& end) {
  TrialResult& result = end.result;
  read_id(reader, "trial", end.trial_id);
  reader.value("worker", [&](const JsonValue& found) {
    result.worker = found.text();
    // Without one the result would count whoever has the trial.
    if (result.worker.empty()) found.refuse("the name of the worker that has the trial");
  });
  reader.choice("status", result.state, kEnds);
  reader.text("message", result.message, "");
  reader.object(
      "measurements", [&](JsonReader& fields) { read_samples(fields, result.measurements); },
      kOptional);
  read_output(reader, "stdout", result.output.stdout_text);
  read_output(reader, "stderr", result.output.stderr_text);
  reader.number("value", result.value);
  reader.number("spread", result.spread);
  reader.part("report", end.report, read_report);
}

TrialEnd fitted(TrialEnd end, std::size_t limit_bytes) {
  const Measurements all = end.result.measurements;
  const std::string message = end.result.message;
  for (std::size_t stride = 2; message_text(to_json(end)).size() > limit_bytes; stride *= 2) {
    end.result.measurements = thinned(all, stride);
    end.result.message = message + (message.empty() ? "" : "; ") + "kept 1 of every " +
                         std::to_string(stride) +
                         " measurements, since a daemon takes no longer result";
    if (stride >= longest(all)) break;
  }
  return end;
}

}  // namespace hocket
