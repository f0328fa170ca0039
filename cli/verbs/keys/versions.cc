// hocket versions: prints the history of a key's configuration.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/version_json.h"
#include "cli/inputs/access/key_source.h"
#include "cli/output/notes.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "cli/views/setting_change.h"
#include "core/base/json_members.h"
#include "core/base/text.h"
#include "core/protocol/config_key.h"

namespace hocket {
namespace {

constexpr std::size_t kVersionsTextLimitBytes = 200;

struct VersionsOptions {
  KeySourceChoice source;
  std::string key;
  bool json = false;
};

/// Returns the answer of GET /v1/configs/{key}/versions, made from the store without a daemon.
Result<nlohmann::json> versions_of(KeySource& source, const std::string& key) {
  if (source.daemon) return ask_daemon(*source.daemon, "GET", "/v1/configs/" + key + "/versions");
  const auto parsed = parse_config_key(key);
  HOCKET_TRY(parsed);
  UnreadRows unread;
  const auto rows = source.store->promotions({.key = *parsed}, &unread);
  HOCKET_TRY(rows);
  nlohmann::json versions = nlohmann::json::array();
  for (const PromotionRow& row : *rows) {
    auto document = version_json(*source.store, row);
    HOCKET_TRY(document);
    versions.push_back(std::move(*document));
  }
  nlohmann::json answer = {{"key", key}, {"versions", std::move(versions)}};
  if (!unread.empty()) answer["unreadable"] = unread;
  return answer;
}

std::string who(const nlohmann::json& version) {
  const std::string study = text_member(version, "study");
  const std::string origin = text_member(version, "origin");
  const std::string actor = text_member(version, "actor");
  const std::string removed = flag_member(version, "study_removed") ? " (removed)" : "";
  return origin + (study.empty() ? "" : " " + study + removed) +
         (actor.empty() ? "" : " by " + actor);
}

/// Returns the stage, and for whose jobs a version is that is not for all.
std::string stage_text(const nlohmann::json& version) {
  std::string text = text_member(version, "stage");
  if (text != "staged") return text;
  const auto owners = version.find("kept_by");
  if (owners == version.end() || !owners->is_array()) return text;
  for (const auto& owner : *owners) {
    if (!owner.is_string()) continue;
    text += (&owner == &owners->front() ? ", for " : ", ") + owner.get<std::string>();
  }
  return printable(text, kVersionsTextLimitBytes);
}

nlohmann::json config_of(const nlohmann::json& version) {
  return version.value("config", nlohmann::json::object());
}

/// Prints a version a line. What changed is counted from the version that was last released.
void print_versions(const std::vector<nlohmann::json>& versions, std::ostream& out) {
  std::int64_t current = 0;
  for (const auto& version : versions) {
    if (text_member(version, "stage") == "released") current = integer_member(version, "version");
  }
  TextTable table({"version", "stage", "when", "who", "what", "gain", "note"});
  nlohmann::json before = nlohmann::json::object();
  for (const auto& version : versions) {
    const auto number = integer_member(version, "version");
    const auto gain = version.find("gain");
    table.add({std::to_string(number) + (number == current ? " *" : ""), stage_text(version),
               time_text(integer_member(version, "promoted_at_ns")),
               printable(who(version), kVersionsTextLimitBytes),
               printable(setting_change(before, config_of(version)), kVersionsTextLimitBytes),
               gain != version.end() && gain->is_number() ? percent_text(gain->get<double>()) : "-",
               printable(text_member(version, "note"), kVersionsTextLimitBytes)});
    // A version that was withdrawn had been released, or was never anybody's.
    if (text_member(version, "stage") != "held") before = config_of(version);
  }
  table.print(out);
}

Result<int> show_versions(const VersionsOptions& options, VerbContext& context) {
  auto source = open_key_source(options.source, false, context.err);
  HOCKET_TRY(source);
  const auto key = find_key(*source, options.key);
  HOCKET_TRY(key);
  const auto answer = versions_of(*source, *key);
  HOCKET_TRY(answer);
  print_unreadable(context.err, *answer);
  if (options.json) {
    context.out << json_text(*answer) << '\n';
    return kDone;
  }
  const auto versions = list_member(*answer, "versions");
  if (versions.empty()) {
    return failure(ErrorCode::not_found, "key " + short_key(*key) + " has no version yet");
  }
  print_versions(versions, context.out);
  return kDone;
}

}  // namespace

void add_versions(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<VersionsOptions>();
  auto* verb = program.add_subcommand("versions", "show the history of a key's configuration");
  verb->add_option("KEY", options->key, "a key, its beginning, or a workload's name")->required();
  add_key_source_options(*verb, options->source);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer("Example:\n  hocket versions gpt2-6x256\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_versions(*options, c); };
  });
}

}  // namespace hocket
