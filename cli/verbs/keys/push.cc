// hocket push: brings an operator's configuration to the jobs of a key.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/studies/study_job.h"
#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/config/knob_text.h"
#include "cli/verbs/keys/key_change.h"
#include "cli/verbs/verb.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/step/hidden_knob.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

struct PushOptions : KeyChangeOptions {
  std::string config_file, note;
  std::vector<std::string> settings;
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
    const auto document = parse_object(*text, "configuration");
    auto config = document ? read_json<ScheduleConfig>(*document, read_schedule_config)
                           : failure(document.error());
    if (!config) return failure(config.error().in("--config " + options.config_file));
    return config;
  }
  ScheduleConfig base;
  const auto current = ask_daemon(client, "GET", "/v1/configs/" + key);
  if (current) {
    JsonReader reader(*current, "the daemon's answer");
    reader.part("config", base, read_known_knobs);
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

Result<int> push(const PushOptions& options, VerbContext& context) {
  const auto body = [&](HttpClient& client, const std::string& key) -> Result<nlohmann::json> {
    const auto config = new_config(client, key, options);
    HOCKET_TRY(config);
    for (const HiddenKnob& hidden : hidden_knobs(*config))
      context.err << "note: " << hidden.text << std::endl;
    return nlohmann::json{{"config", to_json(*config)}, {"note", options.note}};
  };
  return change_key(options, "", body, context);
}

}  // namespace

void add_push(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<PushOptions>();
  auto* verb =
      add_key_change(program, "push", "bring a configuration to a key's jobs, in stages", *options);
  verb->add_option("--set", options->settings, "NAME=VALUE of a knob, over the current ones")
      ->type_name("KNOB=VALUE");
  verb->add_option("--config", options->config_file, "a configuration, as JSON")->type_name("FILE");
  verb->add_option("--note", options->note, "why, for the audit");
  verb->footer("Example:\n  hocket push gpt2-6x256 --set partition_bytes=1MiB --note 'as on b7'\n");
  verb->callback(
      [options, &action] { action = [options](VerbContext& c) { return push(*options, c); }; });
}

}  // namespace hocket
