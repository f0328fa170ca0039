// hocket push, pin, freeze and rollback: an operator's changes to a key's configuration.

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/rollback.h"
#include "archive/studies/owner.h"
#include "archive/studies/study_job.h"
#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/key_source.h"
#include "cli/inputs/config/knob_text.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "cli/views/setting_change.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/base/text.h"
#include "core/protocol/config_key.h"
#include "core/step/hidden_knob.h"
#include "core/step/schedule_config.h"
#include "store/origin.h"

namespace hocket {
namespace {

constexpr std::size_t kPushReasonLimitBytes = 400;

struct PushOptions {
  DaemonChoice daemon;
  std::string key, config_file, note;
  std::vector<std::string> settings;
  std::int64_t version = 0;
  bool off = false, json = false;
};

/// Returns the current configuration of `key`, or the default if it has none, with the settings
/// applied; or the configuration in the file.
Result<ScheduleConfig> new_config(HttpClient& client, const std::string& key,
                                  const PushOptions& options) {
  if (options.settings.empty() == options.config_file.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "give what to push: --set NAME=VALUE, or --config FILE");
  }
  if (!options.config_file.empty()) {
    const auto text = read_file(options.config_file);
    if (!text) return failure(as_bad_input(text.error().in("--config")));
    auto config = parse_schedule_config(*text);
    if (!config) return failure(config.error().in("--config " + options.config_file));
    return config;
  }
  ScheduleConfig base;
  const auto current = ask_daemon(client, "GET", "/v1/configs/" + key);
  if (current) {
    JsonReader reader(*current, "the daemon's answer");
    reader.part("config", base, read_schedule_config);
    HOCKET_TRY(reader.done());
  } else if (current.error().code != ErrorCode::not_found) {
    return failure(current.error());
  }
  for (const std::string& setting : options.settings) {
    if (auto ok = set_knob(base, setting); !ok) return failure(ok.error().in("--set"));
  }
  if (auto ok = validate(base); !ok) return failure(ok.error().in("--set"));
  return base;
}

/// Prints the daemon's response about the key called `name` as one line.
void print_answer(const nlohmann::json& answer, const std::string& name, bool as_json,
                  Context& context) {
  if (as_json) {
    context.out << json_text(answer) << '\n';
    return;
  }
  context.out << name;
  const auto version = integer_member(answer, "version");
  if (version > 0) context.out << " version " << version;
  if (version == 0) context.out << " has no version";
  if (const auto stage = text_member(answer, "stage"); !stage.empty()) context.out << ' ' << stage;
  if (const auto origin = text_member(answer, "origin"); !origin.empty()) {
    context.out << " (" << origin << ")";
  }
  if (flag_member(answer, "pinned")) context.out << ", pinned";
  if (flag_member(answer, "frozen")) context.out << ", frozen";
  context.out << '\n' << std::flush;
  if (const auto reason = text_member(answer, "no_job_can_change"); !reason.empty()) {
    context.err << "hocket: no running job can change to it ("
                << printable(reason, kPushReasonLimitBytes)
                << "); `hocket audit` says what becomes of it" << std::endl;
  }
}

/// Sends `body(client, key)` by PUT to the key's path with `suffix`.
template <class Body>
Result<int> change(const PushOptions& options, Context& context, const std::string& suffix,
                   Body&& body) {
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  const auto key = find_key(client, options.key);
  HOCKET_TRY(key);
  const Result<nlohmann::json> document = body(client, *key);
  HOCKET_TRY(document);
  const auto answer = ask_daemon(client, "PUT", "/v1/configs/" + *key + suffix, *document);
  HOCKET_TRY(answer);
  print_answer(*answer, options.json ? "" : key_name(client, *key), options.json, context);
  return kDone;
}

struct RollbackOptions {
  KeySourceChoice source;
  std::string key, to, note;
  bool json = false;
};

/// Rolls back in the store's file; a daemon that uses it tells running jobs.
Result<nlohmann::json> roll_back_in(Store& store, const std::string& key,
                                    const RollbackTarget& target, const std::string& note) {
  const auto parsed = parse_config_key(key);
  HOCKET_TRY(parsed);
  const auto row = roll_back(store, *parsed, target, actor_text(), note);
  HOCKET_TRY(row);
  const auto origin = origin_of(store, *row);
  HOCKET_TRY(origin);
  return nlohmann::json{
      {"key", key}, {"version", row->id}, {"origin", *origin}, {"setting", row->config}};
}

Result<int> roll_back_key(const RollbackOptions& options, Context& context) {
  const auto target = parse_rollback_target(options.to);
  if (!target) return failure(target.error().in("--to"));
  auto source = open_key_source(options.source, true, context.err);
  HOCKET_TRY(source);
  const auto key = find_key(*source, options.key);
  HOCKET_TRY(key);
  const auto answer = source->daemon
                          ? ask_daemon(*source->daemon, "PUT", "/v1/configs/" + *key + "/rollback",
                                       {{"note", options.note}, {"to", options.to}})
                          : roll_back_in(*source->store, *key, *target, options.note);
  HOCKET_TRY(answer);
  const std::string name = options.json     ? ""
                           : source->daemon ? key_name(*source->daemon, *key)
                                            : short_key(*key);
  print_answer(*answer, name, options.json, context);
  const auto setting = answer->find("setting");
  if (!options.json && setting != answer->end()) {
    context.err << "jobs that start get "
                << (setting->empty() ? "their own default" : setting_text(*setting)) << std::endl;
  }
  return kDone;
}

CLI::App* add_verb(CLI::App& program, const std::string& name, const std::string& help,
                   PushOptions& options) {
  auto* verb = program.add_subcommand(name, help);
  verb->add_option("KEY", options.key, "a key, its beginning, or a workload's name")->required();
  add_daemon_option(*verb, options.daemon);
  verb->add_flag("--json", options.json, "print JSON");
  return verb;
}

}  // namespace

void add_push(CLI::App& program, Action& action) {
  auto options = std::make_shared<PushOptions>();
  auto* verb =
      add_verb(program, "push", "bring a configuration to a key's jobs, in stages", *options);
  verb->add_option("--set", options->settings, "NAME=VALUE of a knob, over the current ones")
      ->type_name("KNOB=VALUE");
  verb->add_option("--config", options->config_file, "a configuration, as JSON")->type_name("FILE");
  verb->add_option("--note", options->note, "why, for the audit");
  verb->footer("Example:\n  hocket push gpt2-6x256 --set partition_bytes=1MiB --note 'as on b7'\n");
  verb->callback([options, &action] {
    action = [options](Context& context) {
      return change(*options, context, "",
                    [&](HttpClient& client, const std::string& key) -> Result<nlohmann::json> {
                      const auto config = new_config(client, key, *options);
                      HOCKET_TRY(config);
                      for (const HiddenKnob& hidden : hidden_knobs(*config))
                        context.err << "note: " << hidden.text << std::endl;
                      return nlohmann::json{{"config", to_json(*config)}, {"note", options->note}};
                    });
    };
  });
}

void add_pin(CLI::App& program, Action& action) {
  auto options = std::make_shared<PushOptions>();
  auto* verb = add_verb(program, "pin", "keep a key's version, whatever tuning finds", *options);
  verb->add_option("--version", options->version, "this one, instead of the current one")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()));
  verb->add_flag("--off", options->off, "let tuning change it again");
  verb->footer("Example:\n  hocket pin gpt2-6x256 --version 12\n");
  verb->callback([options, &action] {
    action = [options](Context& context) {
      return change(*options, context, "/pin",
                    [&](HttpClient&, const std::string&) -> Result<nlohmann::json> {
                      nlohmann::json body = {{"pinned", !options->off}};
                      if (options->version > 0) body["version"] = options->version;
                      return body;
                    });
    };
  });
}

void add_freeze(CLI::App& program, Action& action) {
  auto options = std::make_shared<PushOptions>();
  auto* verb = add_verb(program, "freeze", "leave a key's running jobs alone", *options);
  verb->add_flag("--off", options->off, "no longer");
  verb->footer("Example:\n  hocket freeze gpt2-6x256\n");
  verb->callback([options, &action] {
    action = [options](Context& context) {
      return change(*options, context, "/freeze",
                    [&](HttpClient&, const std::string&) -> Result<nlohmann::json> {
                      return nlohmann::json{{"frozen", !options->off}};
                    });
    };
  });
}

void add_rollback(CLI::App& program, Action& action) {
  auto options = std::make_shared<RollbackOptions>();
  auto* verb = program.add_subcommand(
      "rollback", "withdraw a key's version: all jobs get the one before, at once");
  verb->add_option("KEY", options->key, "a key, its beginning, or a workload's name")->required();
  verb->add_option("--to", options->to,
                   "\"default\" for no configuration at all, or the number of a version (default: "
                   "the one before)");
  verb->add_option("--note", options->note, "why, for the audit");
  add_key_source_options(*verb, options->source);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "Examples:\n  hocket rollback gpt2-6x256 --note 'slower on long sequences'\n"
      "  hocket rollback train.py --to default\n");
  verb->callback([options, &action] {
    action = [options](Context& c) { return roll_back_key(*options, c); };
  });
}

}  // namespace hocket
