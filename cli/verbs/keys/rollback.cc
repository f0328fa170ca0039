// hocket rollback: withdraws a key's version.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/rollback.h"
#include "archive/studies/owner.h"
#include "cli/inputs/access/key_name.h"
#include "cli/inputs/access/key_source.h"
#include "cli/verbs/keys/key_change.h"
#include "cli/verbs/verb.h"
#include "cli/views/setting_change.h"
#include "core/base/plain_text.h"
#include "core/protocol/config_key.h"
#include "store/origin.h"

namespace hocket {
namespace {

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

Result<int> roll_back_key(const RollbackOptions& options, VerbContext& context) {
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
  print_key_answer(*answer, name, options.json, context);
  const auto setting = answer->find("setting");
  if (!options.json && setting != answer->end()) {
    context.err << "jobs that start get "
                << (setting->empty() ? "their own default" : plain_line(setting_text(*setting)))
                << std::endl;
  }
  return kDone;
}

}  // namespace

void add_rollback(CLI::App& program, VerbAction& action) {
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
    action = [options](VerbContext& c) { return roll_back_key(*options, c); };
  });
}

}  // namespace hocket
