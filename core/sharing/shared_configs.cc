#include "core/sharing/shared_configs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_members.h"
#include "core/base/json_reader.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"
#include "core/sharing/sha256.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "hocket-configs";
constexpr int kVersion = 1;
constexpr std::int64_t kMostTrials = std::int64_t{1} << 53;
constexpr std::size_t kShownDigits = 12, kShownNameBytes = 100;

constexpr std::array<Word<EvidenceKind>, 3> kEvidenceKinds{
    {{"study", EvidenceKind::study}, {"live", EvidenceKind::live}, {"none", EvidenceKind::none}}};

/// Returns the bytes that digests are of. Text that is not UTF-8 cannot be in a file.
std::string canonical(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string digest_without(json document, std::initializer_list<const char*> fields) {
  for (const char* field : fields) document.erase(field);
  return sha256_hex(canonical(document));
}

/// Returns the text that a signature is of. It says what is signed, so that no signature of
/// something else is one of such a file.
std::string signed_text(const std::string& sha256) {
  return "hocket configs 1 " + sha256;
}

json to_json(const ConfigEvidence& evidence) {
  json document = {{"kind", to_string(evidence.kind)}, {"at_ns", evidence.at_ns}};
  if (const auto& measured = evidence.measured) {
    document.update({{"value", measured->value},
                     {"default_value", measured->default_value},
                     {"gain", measured->gain}});
  }
  if (const auto& interval = evidence.interval)
    document["gain_interval"] = {{"low", interval->low}, {"high", interval->high}};
  if (evidence.trials > 0) document["trials"] = evidence.trials;
  return document;
}

json without_digest(const SharedConfig& config) {
  const json declared = to_json(Declaration{.parameters = config.declared});
  return {{"key", to_string(key_of(config))},
          {"site", config.site},
          {"topology", to_json(config.topology)},
          {"workload", to_json(config.workload)},
          {"config", config.config},
          {"parameters", declared.at("parameters")},
          {"evidence", to_json(config.evidence)}};
}

void read_evidence(JsonReader& reader, ConfigEvidence& evidence) {
  reader.choice("kind", evidence.kind, kEvidenceKinds);
  reader.integer("at_ns", evidence.at_ns, 0, INT64_MAX);
  if (reader.has("gain")) {
    SharedGain& measured = evidence.measured.emplace();
    reader.number("value", measured.value);
    reader.number("default_value", measured.default_value);
    reader.number("gain", measured.gain);
  }
  reader.object(
      "gain_interval",
      [&](JsonReader& bounds) {
        GainInterval& interval = evidence.interval.emplace();
        bounds.number("low", interval.low);
        bounds.number("high", interval.high);
      },
      kOptional);
  reader.integer("trials", evidence.trials, 1, kMostTrials, 0);
}

/// Reads the parameters of a study alone: a job's knobs are declared by its workload.
void read_parameters(const json& parameters, const JsonReader& reader,
                     std::vector<DeclaredParameter>& target) {
  const json document = {{"parameters", parameters}};
  auto declaration = read_json<Declaration>(document, read_declaration);
  if (!declaration) return reader.self().fail(declaration.error());
  target = std::move(declaration->parameters);
}

void read_shared_config(JsonReader& reader, SharedConfig& config) {
  reader.value("site", [&](const JsonValue& value) { config.site = value.text(kMaxSiteBytes); });
  reader.part("topology", config.topology, read_topology);
  reader.part("workload", config.workload, read_workload);
  reader.value("config", [&](const JsonValue& value) { config.config = value.json(); });
  reader.value("parameters", [&](const JsonValue& value) {
    read_parameters(value.json(), reader, config.declared);
  });
  reader.part("evidence", config.evidence, read_evidence);
}

/// Checks what the fields say together.
Result<void> check(const SharedConfig& config) {
  if (plain_line(config.site) != config.site)
    return invalid("the name of its site has characters that cannot be shown");
  if (!config.config.is_object() || config.config.empty())
    return invalid("its configuration must be an object with at least one value");
  HOCKET_TRY(check_declared(config.config, {config.declared, config.workload.knobs}));
  if (config.config.contains("format")) {
    const auto schedule = schedule_config_from_json(config.config);
    HOCKET_TRY(schedule);
    HOCKET_TRY(validate(*schedule));
  }
  if (config.evidence.interval && config.evidence.interval->low > config.evidence.interval->high)
    return invalid("the interval of its gain ends below its begin");
  return {};
}

/// Returns the entries of a file whose frame and digest are right, and its signature.
Result<SharedConfigs> read_frame(const json& document, const json** entries) {
  JsonReader reader(document, "file of configurations");
  reader.refuse_others();
  reader.format(kFormat, kVersion);
  SharedConfigs frame;
  reader.value("sha256", [&](const JsonValue& value) { frame.sha256 = value.text(kSha256Digits); });
  reader.value("configs", [&](const JsonValue& value) {
    value.array([](const JsonValue&) {}, kMostSharedConfigs);
    *entries = &value.json();
  });
  reader.object(
      "signature",
      [&](JsonReader& fields) {
        Signature& signature = frame.signature.emplace();
        std::string algorithm;
        fields.text("algorithm", algorithm);
        if (!algorithm.empty() && algorithm != "ed25519")
          fields.self().refuse("a signature by \"ed25519\"");
        fields.value("key",
                     [&](const JsonValue& value) { signature.key = value.text(kSha256Digits); });
        fields.value("value", [&](const JsonValue& value) {
          signature.value = value.text(kSignatureDigits);
        });
      },
      kOptional);
  HOCKET_TRY(reader.done());
  if (digest_without(document, {"sha256", "signature"}) != frame.sha256)
    return invalid("file of configurations: it is damaged or was altered: its digest is wrong");
  return frame;
}

std::string entry_name(std::size_t index) {
  return "entry " + std::to_string(index + 1) + " of the file";
}

Result<void> check_size(std::string_view text) {
  if (text.size() <= static_cast<std::size_t>(kMaxSharedConfigsBytes)) return {};
  return invalid("a file of configurations has at most " + size_with_unit(kMaxSharedConfigsBytes) +
                 ", this one has " + size_with_unit(static_cast<std::int64_t>(text.size())));
}

/// Calls `visit(text of the object)` for each element of an array in the document, without parsing
/// it, until that returns false or the text ends.
template <class Visit>
void for_each_entry(std::string_view text, const Visit& visit) {
  constexpr int kEntryDepth = 3;  // behind the document and its array
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i)
          if (text[i] == '\\') ++i;
        break;
      case '{':
      case '[':
        if (++depth == kEntryDepth) begin = i;
        break;
      case '}':
      case ']':
        if (depth-- == kEntryDepth && !visit(text.substr(begin, i + 1 - begin))) return;
        break;
      default:
        break;
    }
  }
}

}  // namespace

std::string_view to_string(EvidenceKind kind) {
  return std::ranges::find(kEvidenceKinds, kind, &Word<EvidenceKind>::value)->word;
}

ConfigKey key_of(const SharedConfig& config) {
  return {fingerprint(config.topology), fingerprint(config.workload)};
}

std::string digest_of(const SharedConfig& config) {
  return sha256_hex(canonical(without_digest(config)));
}

std::string provenance_text(const SharedConfig& config) {
  const ConfigEvidence& evidence = config.evidence;
  std::string text = config.site.empty() ? "a file" : "site " + config.site;
  text += evidence.kind == EvidenceKind::none ? ", chosen " : ", measured ";
  text += date_text(evidence.at_ns);
  if (evidence.kind == EvidenceKind::study) text += " by a study";
  if (evidence.kind == EvidenceKind::live) text += " by live tuning";
  if (evidence.kind == EvidenceKind::none) text += " by an operator";
  return text + ", sha256 " + digest_of(config).substr(0, kShownDigits);
}

nlohmann::json to_json(const SharedConfig& config) {
  json document = without_digest(config);
  document["sha256"] = sha256_hex(canonical(document));
  return document;
}

Result<SharedConfig> shared_config_from_json(const nlohmann::json& document,
                                             const std::string& name) {
  JsonReader reader(document, name);
  reader.refuse_others();
  SharedConfig config;
  std::string key, sha256;
  reader.value("sha256", [&](const JsonValue& value) { sha256 = value.text(kSha256Digits); });
  reader.text("key", key);
  read_shared_config(reader, config);
  HOCKET_TRY(reader.done());
  const auto fail = [&](const std::string& why) {
    return failure(Error{ErrorCode::invalid_argument, why}.in(
        name + " (" + printable(config.workload.name, kShownNameBytes) + ")"));
  };
  if (const auto ok = check(config); !ok) return fail(ok.error().message);
  if (to_string(key_of(config)) != key) {
    return fail(
        "its key is not that of its topology and workload, so it was altered, or written "
        "by a version of hocket that describes them in another way");
  }
  if (digest_of(config) != sha256) return fail("it was altered: its digest is wrong");
  return config;
}

Result<std::string> shared_configs_text(std::vector<SharedConfig> configs,
                                        std::string_view private_key) {
  std::vector<std::pair<std::string, json>> entries;
  for (const SharedConfig& config : configs)
    entries.emplace_back(to_string(key_of(config)), to_json(config));
  std::ranges::sort(entries, {}, &std::pair<std::string, json>::first);
  json list = json::array();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && entries[i].first == entries[i - 1].first)
      return invalid("two configurations have the key " + entries[i].first);
    list.push_back(std::move(entries[i].second));
  }
  json document = {{"format", kFormat}, {"version", kVersion}, {"configs", std::move(list)}};
  const std::string sha256 = sha256_hex(canonical(document));
  document["sha256"] = sha256;
  if (!private_key.empty()) {
    const auto signature = sign(signed_text(sha256), private_key);
    HOCKET_TRY(signature);
    document["signature"] = {
        {"algorithm", "ed25519"}, {"key", signature->key}, {"value", signature->value}};
  }
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<SharedConfigs> shared_configs_from_json(const nlohmann::json& document) {
  const json* entries = nullptr;
  auto read = read_frame(document, &entries);
  HOCKET_TRY(read);
  for (std::size_t i = 0; i < entries->size(); ++i) {
    auto config = shared_config_from_json((*entries)[i], entry_name(i));
    HOCKET_TRY(config);
    const std::string key = to_string(key_of(*config));
    if (i > 0 && to_string(key_of(read->configs.back())) >= key)
      return invalid(entry_name(i) + ": its key is not behind that of the entry before");
    read->configs.push_back(std::move(*config));
  }
  return read;
}

Result<SharedConfigs> read_shared_configs(std::string_view text) {
  HOCKET_TRY(check_size(text));
  const auto document = parse_object(text, "file of configurations");
  HOCKET_TRY(document);
  return shared_configs_from_json(*document);
}

Result<void> check_signature(const SharedConfigs& configs, std::string_view public_key) {
  if (!configs.signature) return invalid("it is not signed");
  return verify(signed_text(configs.sha256), *configs.signature, public_key);
}

Result<std::optional<SharedConfig>> find_shared_config(std::string_view text,
                                                       const ConfigKey& key) {
  HOCKET_TRY(check_size(text));
  const std::string wanted = to_string(key), quoted = '"' + wanted + '"';
  if (text.find(quoted) == std::string_view::npos) return std::nullopt;
  std::optional<Result<SharedConfig>> found;
  std::size_t index = 0;
  for_each_entry(text, [&](std::string_view entry) {
    const std::size_t at = index++;
    if (entry.find(quoted) == std::string_view::npos) return true;
    const auto document = parse_object(entry, entry_name(at));
    if (!document) {
      found = failure(document.error());
    } else if (text_member(*document, "key") == wanted) {
      found = shared_config_from_json(*document, entry_name(at));
    }
    return !found.has_value();
  });
  if (!found) return std::nullopt;
  HOCKET_TRY(*found);
  return std::optional(std::move(**found));
}

}  // namespace hocket
