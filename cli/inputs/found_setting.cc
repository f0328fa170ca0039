#include "cli/inputs/found_setting.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/inputs/daemon_promotion.h"
#include "cli/output/value_text.h"
#include "cli/views/version_view.h"
#include "core/base/printable_text.h"
#include "core/host/topology_probe.h"
#include "tuner/client/link/environment.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

constexpr std::size_t kOriginLimitBytes = 400;

}  // namespace

std::string origin_text(const Promoted& promoted, const std::string& study) {
  const PromotionRow& version = promoted.promotion;
  std::string text = made_text(version, study);
  // Without pairs there is no gain: the default failed.
  if (version.measured) {
    const double gain = version.measured->gain;
    text += gain > 0 ? ", " + percent_text(gain) + " better than the default"
                     : std::string(", the default failed");
  }
  return text + ", for " + promoted.workload.name + " on " + place_text(promoted.topology);
}

Result<FoundSetting> found_setting(Store& store, const Promoted& promoted) {
  FoundSetting found;
  std::optional<StudyDefinition> definition;
  std::string study_name;
  if (promoted.promotion.study_id) {
    const auto study = store.study(std::to_string(*promoted.promotion.study_id));
    HOCKET_TRY(study);
    study_name = study->name;
    // Without its definition every knob counts as tuned.
    if (auto known = study_definition_from_json(study->definition)) definition = std::move(*known);
    if (study->origin == StudyOrigin::tune) found.tuned_command = study->command;
  }
  auto setting =
      promoted_setting(promoted.promotion.config, definition ? &definition->space : nullptr);
  HOCKET_TRY(setting);
  found.setting = std::move(*setting);
  found.origin = origin_text(promoted, study_name);
  return found;
}

Result<FoundSetting> found_setting(const DaemonChoice& daemon, const PromotionChoice& choice) {
  const auto version = ask_for_version(daemon, choice);
  HOCKET_TRY(version);
  const auto& [chosen, answer] = *version;
  const auto setting = answer.find("setting");
  if (setting == answer.end() || !setting->is_object() || setting->empty()) {
    return failure(ErrorCode::not_found,
                   "the daemon has no setting for " +
                       printable(chosen.workload, kOriginLimitBytes) + ": " +
                       printable(text_member(answer, "origin"), kOriginLimitBytes));
  }
  auto read = promoted_setting(*setting, nullptr);
  HOCKET_TRY(read);
  return FoundSetting{std::move(*read),
                      {},
                      printable(text_member(answer, "origin") + ", for " + chosen.workload +
                                    " on " + chosen.topology,
                                kOriginLimitBytes)};
}

std::string workload_selector(const std::string& given) {
  if (given.find('/') == std::string::npos) return given;
  std::error_code error;
  const auto path = std::filesystem::canonical(given, error);
  return error ? given : path.string();
}

bool asks_daemon(const DaemonChoice& daemon, const std::string& store_option) {
  if (!daemon.address.empty()) return true;
  return store_option.empty() && !process_environment("HOCKET_DAEMON").value_or("").empty();
}

void add_setting_source_options(CLI::App& verb, SettingSource& source) {
  verb.add_option("--topology", source.choice.topology,
                  "start of the fingerprint (default: any with this host's hardware)");
  verb.add_option("--world-size", source.world_size, "number of ranks")->check(CLI::PositiveNumber);
  verb.add_option("--link", source.choice.link, "how ranks reach each other: tcp, 500mbit, …");
  auto* store = verb.add_option("--store", source.store, "the store's file");
  verb.add_option("--daemon", source.daemon.address,
                  "ask this daemon (default: $HOCKET_DAEMON, else the store)")
      ->excludes(store);
  add_plain_token_option(verb, source.daemon);
}

}  // namespace hocket
