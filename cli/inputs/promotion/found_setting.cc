#include "cli/inputs/promotion/found_setting.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/promotions/program_promotion.h"
#include "archive/studies/plain_job.h"
#include "cli/inputs/access/store_access.h"
#include "cli/inputs/promotion/daemon_promotion.h"
#include "cli/inputs/promotion/unconfirmed_setting.h"
#include "cli/output/value_text.h"
#include "cli/views/version_view.h"
#include "core/base/bounded_call.h"
#include "core/base/json_members.h"
#include "core/base/nearest_name.h"
#include "core/base/system_variables.h"
#include "core/base/text.h"
#include "core/host/topology_probe.h"
#include "store/open.h"
#include "store/origin.h"
#include "store/store_uri.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

constexpr std::size_t kOriginLimitBytes = 400, kNameLimitBytes = 100;

/// A job waits at most three seconds for its setting, with the start of the program. A store that
/// is locked has time to say so.
constexpr std::int64_t kStartLimitNs = 2'500'000'000;
constexpr int kStartBusyMs = 2'000;

bool has_all(const PromotedVersions& promoted, const std::vector<std::string>& names) {
  return std::ranges::all_of(
      names, [&](const std::string& name) { return promoted.promotion.config.contains(name); });
}

/// Says for which other programs of the same name there is something, which may be this one before
/// it was moved, or on other hardware, and how to take it.
Error nothing_for(Store& store, const std::string& program, const PromotionChoice& choice,
                  const Topology& host) {
  std::string message = "nothing is promoted for " + program;
  const std::string name = program.substr(program.rfind('/') + 1);
  std::string others;
  if (const auto all = current_promotions(store)) {
    const auto candidates = candidates_of(*all);
    for (std::size_t i = 0; i < all->size(); ++i) {
      const PromotedVersions& each = (*all)[i];
      if (each.workload.name != name) continue;
      others += (others.empty() ? "" : "; ") + choosing_command(candidates, i, choice, host) +
                " takes that of " + program_of(each.workload) + " on " + place_text(each.topology);
    }
  }
  if (!others.empty()) message += "; there are others of this name: " + others;
  return {ErrorCode::not_found, message};
}

/// Returns `none`, or an explanation if the version selected by `choice` was withdrawn or is
/// staged.
Error why_none(Store& store, const PromotionChoice& choice, const Topology& host,
               const Error& none) {
  const auto all = latest_promotions(store);
  if (!all) return all.error();
  const auto chosen = choose_promotion(candidates_of(*all), choice, host);
  if (!chosen) return none;
  const PromotedVersions& other = (*all)[*chosen];
  const auto study = study_name(store, other.promotion);
  if (!study) return study.error();
  return {ErrorCode::not_found, "no version is released for " + other.workload.name + " on " +
                                    place_text(other.topology) + ": " +
                                    standing_text(other.promotion, *study)};
}

Result<PromotedVersions> promotion_of_command(Store& store, const SettingSource& source,
                                              const StartedCommand& command) {
  if (!source.choice.workload.empty()) return released_promotion(store, source.choice);
  const auto host = probe_topology();
  HOCKET_TRY(host);
  const bool is_elsewhere = !source.choice.topology.empty();
  auto found =
      promotions_of_program(store, command.words, command.folder, is_elsewhere ? nullptr : &*host);
  HOCKET_TRY(found);
  const auto names = placeholders_of(command.words);
  std::ranges::stable_partition(*found,
                                [&](const PromotedVersions& each) { return has_all(each, names); });
  PromotionChoice place = source.choice;
  for (PromotedVersions& each : *found) {
    place.workload = each.workload.fingerprint;
    if (fit_of(candidate_of(each), place, *host) == PromotionFit::yes) return std::move(each);
  }
  return failure(
      nothing_for(store, program_of(command.words, command.folder), source.choice, *host));
}

Result<FoundSetting> daemon_setting(const SettingSource& source, const StartedCommand& command) {
  PromotionChoice choice = source.choice;
  if (choice.workload.empty()) choice.workload = program_of(command.words, command.folder);
  return found_setting(source.daemon, choice);
}

/// The setting that `study` promoted, or that of `command`, from the store at `path`.
Result<FoundSetting> stored_setting(const std::string& path, const SettingSource& source,
                                    const std::string& study, const StartedCommand& command) {
  const auto store = open_store(
      path,
      {.read_only = true, .busy_timeout_ms = kStartBusyMs, .answer_timeout_ms = kStartBusyMs});
  if (!store && store.error().code == ErrorCode::not_found) {
    return failure(store.error().in("nothing is tuned yet"));
  }
  HOCKET_TRY(store);
  const auto promoted = study.empty() ? promotion_of_command(**store, source, command)
                                      : promotion_of_study(**store, study);
  HOCKET_TRY(promoted);
  return found_setting(**store, *promoted);
}

}  // namespace

std::string origin_text(const PromotedVersions& promoted, const std::string& study) {
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

Result<PromotedVersions> released_promotion(Store& store, const PromotionChoice& choice) {
  auto current = current_promotions(store);
  HOCKET_TRY(current);
  const auto host = probe_topology();
  HOCKET_TRY(host);
  const auto chosen = choose_promotion(candidates_of(*current), choice, *host);
  if (!chosen) return failure(why_none(store, choice, *host, chosen.error()));
  return std::move((*current)[*chosen]);
}

Result<FoundSetting> found_setting(Store& store, const PromotedVersions& promoted) {
  FoundSetting found;
  std::optional<StudyDefinition> definition;
  const auto name = study_name(store, promoted.promotion);
  HOCKET_TRY(name);
  if (promoted.promotion.study_id) {
    const auto study = store.study(std::to_string(*promoted.promotion.study_id));
    HOCKET_TRY(study);
    // Without its definition every knob counts as tuned.
    if (auto known = study_definition_from_json(study->definition)) definition = std::move(*known);
    if (study->origin == StudyOrigin::tune) found.tuned_command = study->command;
  }
  auto setting =
      promoted_setting(promoted.promotion.config, definition ? &definition->space : nullptr);
  HOCKET_TRY(setting);
  found.setting = std::move(*setting);
  found.origin = origin_text(promoted, *name);
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
  return FoundSetting{
      std::move(*read),
      {},
      printable(text_member(answer, "origin") + ", for " + chosen.workload + " on " + chosen.place,
                kOriginLimitBytes)};
}

Result<StartedCommand> started_here(std::vector<std::string> words) {
  std::error_code error;
  const auto folder = std::filesystem::current_path(error);
  if (error) {
    return failure(ErrorCode::unavailable,
                   "the working directory cannot be read: " + error.message());
  }
  return StartedCommand{std::move(words), folder.string()};
}

Result<void> check_variables(const Params& params, const std::vector<std::string>& allowed) {
  constexpr std::string_view kInNames =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  for (const auto& [name, value] : params) {
    const std::string setting = "the setting has " + printable(name, kNameLimitBytes);
    if (name.empty() || name.find_first_not_of(kInNames) != std::string::npos)
      return invalid(setting + ", which is no name of a variable, so it is not applied");
    if (name.starts_with("HOCKET_"))
      return invalid(setting + ", a variable of hocket's own, so it is not applied");
    const std::string_view use = system_variable_use(name);
    if (use.empty() || std::ranges::count(allowed, name) > 0) continue;
    return invalid(setting + ", which " + std::string(use) +
                   ", so it is not applied; to apply it nevertheless, add --allow-variable " +
                   name);
  }
  return {};
}

namespace {

Result<FoundSetting> with_allowed(Result<FoundSetting> found, const SettingSource& source) {
  if (found) HOCKET_TRY(check_variables(found->setting.params, source.allowed_variables));
  return found;
}

Result<FoundSetting> any_setting_to_start(const SettingSource& source, const std::string& study,
                                          const StartedCommand& command) {
  if (study.empty() && asks_daemon(source.daemon, source.store)) {
    return call_within(kStartLimitNs, "the daemon",
                       [source, command] { return daemon_setting(source, command); });
  }
  const auto path = store_path(source.store);
  HOCKET_TRY(path);
  return call_within(kStartLimitNs, "store " + shown_store(*path),
                     [path = *path, source, study, command] {
                       return stored_setting(path, source, study, command);
                     });
}

}  // namespace

Result<FoundSetting> setting_of_command(const SettingSource& source,
                                        const StartedCommand& command) {
  if (asks_daemon(source.daemon, source.store))
    return with_allowed(daemon_setting(source, command), source);
  const auto store = open_for_reading(source.store);
  HOCKET_TRY(store);
  const auto promoted = promotion_of_command(**store, source, command);
  if (!promoted) {
    return failure(
        with_unconfirmed(**store, promoted.error(), source.choice, command, source.store));
  }
  return with_allowed(found_setting(**store, *promoted), source);
}

Result<FoundSetting> setting_to_start(const SettingSource& source, const std::string& study,
                                      const StartedCommand& command) {
  return with_allowed(any_setting_to_start(source, study, command), source);
}

Result<FilledCommand> filled_command(const std::vector<std::string>& words,
                                     const FoundSetting& found) {
  const Params& params = found.setting.params;
  std::vector<std::string_view> known;
  for (const auto& [name, value] : params) known.push_back(name);
  FilledCommand filled;
  const auto names = placeholders_of(words), tuned = placeholders_of(found.tuned_command);
  for (const auto& name : names) {
    if (params.contains(name)) continue;
    const std::string missing = "the setting has no value for {" + name + "}";
    if (const auto hint = did_you_mean(name, known); !hint.empty()) return invalid(missing + hint);
    filled.notes.push_back(missing + ", which stays as it is");
  }
  for (const auto& [name, value] : params) {
    if (std::ranges::count(names, name) > 0 || std::ranges::count(tuned, name) == 0) continue;
    filled.notes.push_back("the command has no {" + name + "}, so it runs without that value " +
                           "unless it reads the environment variable " + name +
                           "; the study ran: " + shell_text(found.tuned_command));
  }
  auto call = call_with(words, found.setting);
  HOCKET_TRY(call);
  filled.call = std::move(*call);
  return filled;
}

void add_setting_source_options(CLI::App& verb, SettingSource& source) {
  verb.add_option("--topology", source.choice.topology,
                  "start of the fingerprint (default: any with this host's hardware)");
  verb.add_option("--world-size", source.world_size, "number of ranks")->check(CLI::PositiveNumber);
  verb.add_option("--link", source.choice.link, "how ranks reach each other: tcp, 500mbit, …");
  auto* store = add_store_option(verb, source.store);
  verb.add_option("--daemon", source.daemon.address,
                  "ask this daemon (default: $HOCKET_DAEMON, else the store)")
      ->excludes(store);
  add_plain_token_option(verb, source.daemon);
  verb.add_option("--allow-variable", source.allowed_variables,
                  "apply a setting with this variable although programs find others by it, as by "
                  "PATH or LD_PRELOAD; repeat it")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

}  // namespace hocket
