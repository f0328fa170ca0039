// hocket fetch: prints the promoted configuration of a workload.

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/promotion_choice.h"
#include "archive/promotions/stored_promotions.h"
#include "cli/base/command_line.h"
#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/key_source.h"
#include "cli/inputs/access/store_access.h"
#include "cli/inputs/promotion/daemon_promotion.h"
#include "cli/inputs/promotion/found_setting.h"
#include "cli/inputs/promotion/site_setting.h"
#include "cli/inputs/promotion/unconfirmed_setting.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "cli/views/version_view.h"
#include "core/base/json_members.h"
#include "core/base/json_reader.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"
#include "store/origin.h"

namespace hocket {
namespace {

constexpr std::size_t kFetchOriginLimitBytes = 400;

enum class FetchFormat { json, env, sh, args };

struct FetchOptions {
  SettingSource source;
  FetchFormat format = FetchFormat::json;
  bool json = false;
};

/// A promoted version, and the name of its study.
struct Found {
  PromotedVersions promoted;
  std::string study;
};

nlohmann::json number_or_null(const std::optional<MeasuredGain>& measured,
                              double MeasuredGain::*member) {
  return measured ? nlohmann::json((*measured).*member) : nlohmann::json();
}

Result<nlohmann::json> found_json(Store& store, const Found& found) {
  const auto& [promotion, newer, workload, topology_fingerprint, topology] = found.promoted;
  auto document = to_json(promotion, found.study);
  document.update(
      {{"config", promotion.config},
       {"workload",
        {{"name", workload.name},
         {"fingerprint", workload.fingerprint},
         {"program", program_of(workload)}}},
       {"topology",
        {{"name", readable_name(topology)},
         {"fingerprint", topology_fingerprint},
         {"emulated_link", !emulation_note(topology).empty()}}},
       {"value", number_or_null(promotion.measured, &MeasuredGain::value)},
       {"default_value", number_or_null(promotion.measured, &MeasuredGain::default_value)},
       {"gain", number_or_null(promotion.measured, &MeasuredGain::gain)}});
  document["newer"] = nlohmann::json::array();
  for (const auto& version : newer) {
    const auto study = study_name(store, version);
    HOCKET_TRY(study);
    document["newer"].push_back(to_json(version, *study));
  }
  return document;
}

Result<Found> find(Store& store, const PromotionChoice& choice) {
  const auto chosen = released_promotion(store, choice);
  HOCKET_TRY(chosen);
  const auto study = study_name(store, chosen->promotion);
  HOCKET_TRY(study);
  return Found{*chosen, *study};
}

nlohmann::json asked_json(const PromotionCandidate& promotion, const nlohmann::json& config,
                          const nlohmann::json& answer) {
  return {{"config", config},
          {"version", integer_member(answer, "version")},
          {"origin", text_member(answer, "origin")},
          {"promoted_at", time_text(integer_member(answer, "promoted_at_ns"))},
          {"pinned", flag_member(answer, "pinned")},
          {"frozen", flag_member(answer, "frozen")},
          {"workload", {{"name", promotion.workload}, {"fingerprint", promotion.key.workload}}},
          {"topology", {{"name", promotion.place}, {"fingerprint", promotion.key.topology}}}};
}

/// Returns the configuration in a daemon's answer; not_found if the key has none.
Result<nlohmann::json> promoted_config(const nlohmann::json& answer,
                                       const PromotionCandidate& promotion) {
  const auto setting = answer.find("setting");
  if (setting != answer.end() && setting->is_object() && setting->empty()) {
    return failure(
        ErrorCode::not_found,
        "there is no configuration for " + printable(promotion.workload, kFetchOriginLimitBytes) +
            " any more: " + printable(text_member(answer, "origin"), kFetchOriginLimitBytes));
  }
  if (setting != answer.end() && setting->is_object() && !setting->contains("format"))
    return *setting;
  ScheduleConfig config;
  JsonReader reader(answer, "the daemon's answer");
  reader.part("config", config, read_known_knobs);
  HOCKET_TRY(reader.done());
  return to_json(config);
}

Result<int> print_daemons(const FetchOptions& options, VerbContext& context) {
  const auto version = ask_for_version(options.source.daemon, options.source.choice);
  HOCKET_TRY(version);
  const auto& [chosen, answer] = *version;
  const auto promoted = promoted_config(answer, chosen);
  HOCKET_TRY(promoted);
  const nlohmann::json& config = *promoted;
  if (options.json) {
    context.out << json_text(asked_json(chosen, config, answer)) << '\n';
    return kDone;
  }
  context.out << json_text(config) << '\n' << std::flush;
  const std::string origin =
      text_member(answer, "origin") + ", for " + chosen.workload + " on " + chosen.place;
  context.err << printable(origin, kFetchOriginLimitBytes) << std::endl;
  return kDone;
}

/// Refuses a word for a shell that would reach it changed: no terminal may get it as it is
/// (cli/output/text_gate.h).
Result<void> check_plain(const std::string& word) {
  if (plain_line(word) == word) return {};
  return invalid("the setting has a value with characters that a terminal must not show, \"" +
                 printable(word, kFetchOriginLimitBytes) +
                 "\", so it is not printed for a shell; `hocket with` gives it to the command");
}

/// Returns the setting as arguments of env(1), or as commands of a shell.
Result<std::string> environment_text(const FoundSetting& found, bool is_for_shell) {
  const auto call = call_with({}, found.setting);
  std::string text;
  if (!call) return text;
  for (const auto& [name, value] : call->environment) HOCKET_TRY(check_plain(name + "=" + value));
  // The options of env come before its assignments.
  for (const auto& name : call->absent) text += (is_for_shell ? "unset " : "-u ") + name + "\n";
  for (const auto& [name, value] : call->environment)
    text += (is_for_shell ? "export " : "") + name + "=" + shell_quoted(value) + "\n";
  return text;
}

Result<std::string> arguments_text(const FoundSetting& found, VerbContext& context) {
  if (!context.command) {
    // Each parameter stands in the arguments.
    std::vector<std::string> places;
    for (const auto& [name, value] : found.setting.params) places.push_back("{" + name + "}");
    HOCKET_TRY(check_filled(places, found.setting, found.words, found.allowed_variables));
    const auto words = setting_arguments(found.tuned_command, found.setting.params);
    for (const std::string& word : words) HOCKET_TRY(check_plain(word));
    return shell_text(words) + "\n";
  }
  const auto filled = filled_command(*context.command, found, surroundings_of("", ""));
  HOCKET_TRY(filled);
  for (const std::string& word : filled->call.argv) HOCKET_TRY(check_plain(word));
  for (const auto& note : filled->notes) context.err << plain_line("hocket: " + note) << '\n';
  return shell_text(filled->call.argv) + "\n";
}

/// Prints the setting of the command or of --workload for a shell.
Result<int> print_setting(const FoundSetting& found, const FetchOptions& options,
                          VerbContext& context) {
  if (options.format == FetchFormat::env || options.format == FetchFormat::sh) {
    const auto text = environment_text(found, options.format == FetchFormat::sh);
    HOCKET_TRY(text);
    context.out << *text << std::flush;
  } else {
    const auto text = arguments_text(found, context);
    HOCKET_TRY(text);
    context.out << *text << std::flush;
  }
  context.err << plain_line(found.origin) << std::endl;
  return kDone;
}

Result<int> print_found(Store& store, const Found& found, const FetchOptions& options,
                        VerbContext& context) {
  if (options.json) {
    const auto document = found_json(store, found);
    HOCKET_TRY(document);
    context.out << json_text(*document) << '\n';
    return kDone;
  }
  context.out << json_text(found.promoted.promotion.config) << '\n' << std::flush;
  context.err << plain_line(origin_text(found.promoted, found.study)) << std::endl;
  for (const auto& version : found.promoted.newer) {
    const auto study = study_name(store, version);
    HOCKET_TRY(study);
    context.err << standing_text(version, *study) << std::endl;
  }
  return kDone;
}

/// Prints what the site ships. Returns `none` where it has nothing, the error of who was asked
/// first.
Result<int> fetch_from_site(const Result<std::unique_ptr<Store>>& site, const Error& none,
                            const FetchOptions& options, VerbContext& context) {
  if (none.code != ErrorCode::not_found) return failure(none);
  if (!site) return failure(none.code, none.message + "; " + site.error().message);
  if (*site == nullptr) return failure(none);
  const auto found = find(**site, options.source.choice);
  return found ? print_found(**site, *found, options, context) : failure(none);
}

Result<int> fetch_from_daemon(const FetchOptions& options, VerbContext& context) {
  auto printed = print_daemons(options, context);
  if (printed || printed.error().code != ErrorCode::not_found) return printed;
  const auto listed = listed_configs(options.source.daemon);
  HOCKET_TRY(listed);
  return fetch_from_site(site_store_beside(*listed), printed.error(), options, context);
}

Result<int> fetch_from_store(const FetchOptions& options, VerbContext& context) {
  const auto store = open_for_reading(options.source.store);
  if (!store) return fetch_from_site(site_store(nullptr), store.error(), options, context);
  const auto found = find(**store, options.source.choice);
  if (found) return print_found(**store, *found, options, context);
  const Error none =
      with_unconfirmed(**store, found.error(), options.source.choice, {}, options.source.store);
  return fetch_from_site(site_store(store->get()), none, options, context);
}

/// Refuses a setting with knobs that are set where only a command has a place for them.
Result<void> check_no_knobs(const FoundSetting& found) {
  if (found.knobs.empty()) return {};
  return invalid("the setting has " + found.knobs.front().parameter.name +
                 ", a knob that is no variable of this name, so it is not printed for a shell; "
                 "`hocket with` gives it to the command");
}

Result<int> fetch(const FetchOptions& options, VerbContext& context) {
  const bool for_shell = options.format != FetchFormat::json;
  if (!for_shell) {
    HOCKET_TRY(no_command(context.command, "fetch"));
  }
  const auto words = context.command.value_or(std::vector<std::string>());
  if (options.source.choice.workload.empty() && words.empty()) {
    return invalid(for_shell ? "--workload needs a name or a fingerprint; or give the command "
                               "after \"--\""
                             : "--workload needs a name or a fingerprint");
  }
  if (for_shell) {
    const auto command = started_here(words);
    HOCKET_TRY(command);
    SettingSource source = options.source;
    if (!words.empty()) source.choice.command_end = " -- " + shell_text(words);
    const auto found = setting_of_command(source, *command);
    HOCKET_TRY(found);
    HOCKET_TRY(check_no_knobs(*found));
    return print_setting(*found, options, context);
  }
  if (asks_daemon(options.source.daemon, options.source.store)) {
    return fetch_from_daemon(options, context);
  }
  return fetch_from_store(options, context);
}

}  // namespace

void add_fetch(CLI::App& program, VerbAction& action) {
  const std::map<std::string, FetchFormat> formats = {{"json", FetchFormat::json},
                                                      {"env", FetchFormat::env},
                                                      {"sh", FetchFormat::sh},
                                                      {"args", FetchFormat::args}};
  auto options = std::make_shared<FetchOptions>();
  auto* verb = program.add_subcommand("fetch", "print the promoted configuration of a workload");
  verb->add_option("--workload", options->source.choice.workload,
                   "name, path of the script, or start of the fingerprint (default: of the "
                   "command's script or program)");
  add_setting_source_options(*verb, options->source);
  auto* json =
      verb->add_flag("--json", options->json, "print JSON that says where it comes from, too");
  verb->add_option(
          "--format", options->format,
          "json; env: lines NAME=VALUE, and -u NAME for a variable that must be absent, as "
          "env takes them; sh: lines for eval; args: the words that give the setting to "
          "the command")
      ->transform(CLI::CheckedTransformer(formats))
      ->option_text("json|env|sh|args")
      ->excludes(json);
  verb->footer(
      "With --format env, sh or args a command may follow \"--\", which takes the place of "
      "--workload;\n"
      "args prints its words with their {NAME} filled in.\n"
      "Examples:\n"
      "  hocket fetch --workload gpt2-6x256 --world-size 2\n"
      "  env $(hocket fetch --workload train.py --format env) python train.py\n"
      "  eval \"$(hocket fetch --workload train.py --format sh)\"\n"
      "  python train.py $(hocket fetch --workload train.py --format args)\n"
      "  hocket fetch --format args -- python train.py --bucket-mb {BUCKET}\n");
  verb->callback([options, &action] {
    auto& source = options->source;
    if (source.world_size > 0) source.choice.world_size = source.world_size;
    if (options->format == FetchFormat::env) source.choice.command += " --format env";
    if (options->format == FetchFormat::args) source.choice.command += " --format args";
    if (options->json) source.choice.command += " --json";
    source.choice.workload = workload_selector(source.choice.workload);
    action = [options](VerbContext& c) { return fetch(*options, c); };
  });
}

}  // namespace hocket
