#include "cli/inputs/promotion/found_setting.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "archive/promotions/program_promotion.h"
#include "archive/studies/plain_job.h"
#include "cli/inputs/access/store_access.h"
#include "cli/inputs/knobs/knob_catalog.h"
#include "cli/inputs/promotion/daemon_promotion.h"
#include "cli/inputs/promotion/site_setting.h"
#include "cli/inputs/promotion/unconfirmed_setting.h"
#include "cli/output/value_text.h"
#include "cli/views/version_view.h"
#include "core/base/bounded_call.h"
#include "core/base/json_members.h"
#include "core/base/json_reader.h"
#include "core/base/nearest_name.h"
#include "core/base/text.h"
#include "core/host/topology_probe.h"
#include "core/step/knob.h"
#include "core/step/tool_knob.h"
#include "store/declared.h"
#include "store/open.h"
#include "store/origin.h"
#include "store/store_uri.h"
#include "tuner/command/command_program.h"

namespace hocket {
namespace {

constexpr std::size_t kOriginLimitBytes = 400;

/// A job waits at most three seconds for its setting, with the start of the program. A store that
/// is locked has time to say so.
constexpr std::int64_t kStartLimitNs = 2'500'000'000;
constexpr int kStartBusyMs = 2'000;
constexpr std::int64_t kKnobFilesLimitNs = 400'000'000;

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

/// Returns what the site ships for the command, or `none`, the error of who knows nothing of it.
Result<FoundSetting> site_setting(const Result<std::unique_ptr<Store>>& site, const Error& none,
                                  const SettingSource& source, const StartedCommand& command) {
  if (!site) {
    return failure(none.code, none.message + "; and what the site ships cannot be used: " +
                                  site.error().message);
  }
  if (*site == nullptr) return failure(none);
  const auto promoted = promotion_of_command(**site, source, command);
  if (!promoted) return failure(none);
  return found_setting(**site, *promoted);
}

Result<FoundSetting> daemon_setting(const SettingSource& source, const StartedCommand& command) {
  PromotionChoice choice = source.choice;
  if (choice.workload.empty()) choice.workload = program_of(command.words, command.folder);
  auto found = found_setting(source.daemon, choice);
  if (found || found.error().code != ErrorCode::not_found) return found;
  const auto listed = listed_configs(source.daemon);
  HOCKET_TRY(listed);
  return site_setting(site_store_beside(*listed), found.error(), source, command);
}

/// Returns the setting that the store has for the command, or else the site.
Result<FoundSetting> setting_beside(Store& store, const SettingSource& source,
                                    const StartedCommand& command) {
  const auto promoted = promotion_of_command(store, source, command);
  if (promoted) return found_setting(store, *promoted);
  if (promoted.error().code != ErrorCode::not_found) return failure(promoted.error());
  return site_setting(site_store(&store), promoted.error(), source, command);
}

/// The setting that `study` promoted, or that of `command`, from the store at `path`.
Result<FoundSetting> stored_setting(const std::string& path, const SettingSource& source,
                                    const std::string& study, const StartedCommand& command) {
  const auto store = open_store(
      path,
      {.read_only = true, .busy_timeout_ms = kStartBusyMs, .answer_timeout_ms = kStartBusyMs});
  if (!store && store.error().code == ErrorCode::not_found) {
    const Error none = store.error().in("nothing is tuned yet");
    return study.empty() ? site_setting(site_store(nullptr), none, source, command) : failure(none);
  }
  HOCKET_TRY(store);
  if (study.empty()) return setting_beside(**store, source, command);
  const auto promoted = promotion_of_study(**store, study);
  HOCKET_TRY(promoted);
  return found_setting(**store, *promoted);
}

/// Says whose words a version has: the user's own if a study of `hocket tune` promoted it, or one
/// with the same configuration.
Result<SettingWords> words_of(Store& store, const PromotionRow& version) {
  std::vector<PromotionRow> rows = {version};
  if (!version.study_id) {
    UnreadRows unread;
    auto same = store.promotions(
        {.topology_id = version.topology_id, .workload_id = version.workload_id}, &unread);
    HOCKET_TRY(same);
    std::erase_if(*same, [&](const PromotionRow& row) { return row.config != version.config; });
    rows = std::move(*same);
  }
  for (const PromotionRow& row : rows) {
    if (!row.study_id) continue;
    const auto study = store.study(std::to_string(*row.study_id));
    if (study && study->origin == StudyOrigin::tune) return SettingWords::own;
  }
  return SettingWords::foreign;
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
  const PromotionRow& version = promoted.promotion;
  const auto name = study_name(store, version);
  HOCKET_TRY(name);
  found.origin = origin_text(promoted, *name);
  if (version.study_id) {
    const auto study = store.study(std::to_string(*version.study_id));
    HOCKET_TRY(study);
    if (study->origin == StudyOrigin::tune) found.tuned_command = study->command;
  }
  const auto words = words_of(store, version);
  HOCKET_TRY(words);
  found.words = *words;
  const auto declaration = declaration_of(version.declared, promoted.workload.document);
  if (!declaration) return failure(declaration.error().in(found.origin));
  auto setting = promoted_setting(version.config, *declaration);
  if (!setting) {
    const std::string remedy =
        declaration->parameters.empty()
            ? "; no study in the store declares its parameters: tune the command again"
            : "";
    return failure(ErrorCode::invalid_argument,
                   found.origin + ": " + setting.error().message + remedy);
  }
  found.setting = std::move(*setting);
  return found;
}

Result<FoundSetting> found_setting(const DaemonChoice& daemon, const PromotionChoice& choice) {
  const auto version = ask_for_version(daemon, choice);
  HOCKET_TRY(version);
  const auto& [chosen, answer] = *version;
  const std::string workload = printable(chosen.workload, kOriginLimitBytes);
  const auto setting = answer.find("setting");
  if (setting == answer.end() || !setting->is_object() || setting->empty()) {
    return failure(ErrorCode::not_found,
                   "the daemon has no setting for " + workload + ": " +
                       printable(text_member(answer, "origin"), kOriginLimitBytes));
  }
  JsonReader reader(answer, "the daemon's answer for " + workload);
  Declaration declaration;
  bool is_declared = false;
  reader.object(
      "declared",
      [&](JsonReader& fields) {
        is_declared = true;
        read_declaration(fields, declaration);
      },
      kOptional);
  HOCKET_TRY(reader.done());
  auto read = promoted_setting(*setting, declaration);
  if (!read) {
    const std::string remedy = is_declared ? ""
                                           : "; the daemon is of an earlier version, which does "
                                             "not say what is declared: renew it";
    return failure(ErrorCode::invalid_argument,
                   "the daemon's setting for " + workload + ": " + read.error().message + remedy);
  }
  FoundSetting found;
  found.setting = std::move(*read);
  found.origin =
      printable(text_member(answer, "origin") + ", for " + chosen.workload + " on " + chosen.place,
                kOriginLimitBytes);
  return found;
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

namespace {

/// Returns the knobs of other tools in a setting, as hocket or a file of the user declares them.
Result<std::vector<ToolKnob>> declared_knobs(const PromotedSetting& setting,
                                             const std::vector<std::string>& files,
                                             SettingWords words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : setting.params)
    if (is_tool_knob(name) && find_knob(name) == nullptr) names.push_back(name);
  if (names.empty()) return std::vector<ToolKnob>();
  const auto read = [names, files]() -> Result<std::vector<ToolKnob>> {
    std::vector<ToolKnob> knobs;
    for (const std::string& name : names) {
      auto knob = find_knob_of(name, own_knobs_folder(process_environment), files);
      HOCKET_TRY(knob);
      knobs.push_back(std::move(*knob));
    }
    return knobs;
  };
  auto knobs = call_within(kKnobFilesLimitNs, "the folder of knobs", read);
  if (!knobs && knobs.error().code != ErrorCode::timed_out)
    return invalid("the setting is not applied: " + knobs.error().message);
  HOCKET_TRY(knobs);
  for (const ToolKnob& knob : *knobs) {
    if (words == SettingWords::own) continue;
    const auto ok = check_knob_value(knob, setting.params.at(knob.parameter.name));
    if (!ok) return failure(ok.error().in("the setting is not applied"));
  }
  return knobs;
}

Result<FoundSetting> with_allowed(Result<FoundSetting> found, const SettingSource& source) {
  HOCKET_TRY(found);
  found->allowed_variables = source.allowed_variables;
  HOCKET_TRY(check_setting(found->setting, found->words, found->allowed_variables));
  auto knobs = declared_knobs(found->setting, source.knob_files, found->words);
  HOCKET_TRY(knobs);
  found->knobs = std::move(*knobs);
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
  if (!store && store.error().code == ErrorCode::not_found)
    return with_allowed(site_setting(site_store(nullptr), store.error(), source, command), source);
  HOCKET_TRY(store);
  auto found = setting_beside(**store, source, command);
  if (!found && found.error().code == ErrorCode::not_found) {
    return failure(with_unconfirmed(**store, found.error(), source.choice, command, source.store));
  }
  return with_allowed(std::move(found), source);
}

Result<FoundSetting> setting_to_start(const SettingSource& source, const std::string& study,
                                      const StartedCommand& command) {
  return with_allowed(any_setting_to_start(source, study, command), source);
}

namespace {

/// Says that a command starts another number of ranks than the one that was tuned, as far as both
/// say how many; empty if not.
std::string ranks_note(const std::vector<std::string>& words,
                       const std::vector<std::string>& tuned) {
  if (words.empty() || tuned.empty()) return {};
  const std::int64_t own = read_command(words).ranks, learned = read_command(tuned).ranks;
  if (own == 0 || learned == 0 || own == learned) return {};
  return "the setting was learned with another number of ranks, " + std::to_string(learned) +
         ", and the command starts " + std::to_string(own) +
         "; `hocket tune` of the command may find a better one";
}

}  // namespace

bool has_copied_documents(const FoundSetting& found) {
  return std::ranges::any_of(found.knobs,
                             [](const ToolKnob& knob) { return knob.place.way == KnobWay::field; });
}

Result<FilledCommand> filled_command(const std::vector<std::string>& words,
                                     const FoundSetting& found,
                                     const KnobSurroundings& surroundings) {
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
  KnobPlaces places;
  Params own_values;
  for (const ToolKnob& knob : found.knobs) {
    const std::string& name = knob.parameter.name;
    const auto parameter = parameter_in(knob, words, surroundings);
    if (parameter) {
      places.emplace(name, knob.place);
      own_values.emplace(name, parameter->default_value);
    } else {
      filled.notes.push_back(name + " is not applied: " + parameter.error().message);
    }
  }
  for (const auto& [name, value] : params) {
    if (std::ranges::count(names, name) > 0 || std::ranges::count(tuned, name) == 0) continue;
    filled.notes.push_back("the command has no {" + name + "}, so it runs without that value " +
                           "unless it reads the environment variable " + name +
                           "; the study ran: " + shell_text(found.tuned_command));
  }
  if (const auto note = ranks_note(words, found.tuned_command); !note.empty())
    filled.notes.push_back(note);
  HOCKET_TRY(check_filled(words, found.setting, found.words, found.allowed_variables));
  auto call = call_with(words, found.setting);
  HOCKET_TRY(call);
  HOCKET_TRY(apply_knobs(places, words, params, own_values, surroundings, *call));
  filled.call = std::move(*call);
  return filled;
}

void add_knob_file_option(CLI::App& verb, SettingSource& source) {
  verb.add_option("--knobs", source.knob_files,
                  "a file that declares knobs of the setting, where it is not in the folder for "
                  "them (hocket knobs list); repeat it")
      ->type_name("FILE")
      ->allow_extra_args(false);
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
                  "PATH or LD_PRELOAD, or others have chosen its word; repeat it")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

}  // namespace hocket
