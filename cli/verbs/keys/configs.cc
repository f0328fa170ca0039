// hocket configs: lists the keys for which a daemon has configurations. Below it are export and
// import.

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/inputs/access/daemon_access.h"
#include "cli/inputs/access/key_name.h"
#include "cli/output/notes.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/keys/shared_configs.h"
#include "cli/verbs/verb.h"
#include "core/base/json_members.h"
#include "core/base/text.h"

namespace hocket {
namespace {

struct ConfigsOptions {
  DaemonChoice daemon;
  bool json = false;
};

constexpr std::size_t kConfigsTextLimitBytes = 60, kConfigsWorkloadLimitBytes = 200;

std::string state_text(const nlohmann::json& item) {
  std::string text;
  if (flag_member(item, "pinned")) text = "pinned";
  if (flag_member(item, "frozen")) text += text.empty() ? "frozen" : ", frozen";
  if (!text_member(item, "tuning_stopped").empty()) {
    text += text.empty() ? "tuning stopped" : ", tuning stopped";
  }
  return text.empty() ? "-" : text;
}

Result<int> show_configs(const ConfigsOptions& options, VerbContext& context) {
  auto access = daemon_access(options.daemon);
  HOCKET_TRY(access);
  HttpClient client(std::move(*access));
  const auto answer = ask_daemon(client, "GET", "/v1/configs");
  HOCKET_TRY(answer);
  print_unreadable(context.err, *answer);
  if (options.json) {
    context.out << json_text(*answer) << '\n';
    return kDone;
  }
  const auto items = list_member(*answer, "configs");
  std::map<std::string, int> names;
  for (const auto& item : items) ++names[text_member(item, "workload")];
  TextTable table({"key", "workload", "topology", "version", "state"});
  for (const auto& item : items) {
    // Scripts of one name are told apart by their paths.
    const std::string name = text_member(item, "workload"), program = text_member(item, "program");
    std::string workload = names[name] > 1 && !program.empty() ? program : name;
    if (const auto traits = text_member(item, "traits"); !traits.empty())
      workload += " (" + traits + ")";
    const auto version = integer_member(item, "version");
    table.add({short_key(text_member(item, "key")), printable(workload, kConfigsWorkloadLimitBytes),
               printable(text_member(item, "topology"), kConfigsTextLimitBytes),
               version == 0 ? "-" : std::to_string(version), state_text(item)});
  }
  table.print(context.out);
  return kDone;
}

}  // namespace

void add_configs(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<ConfigsOptions>();
  auto* verb = program.add_subcommand(
      "configs",
      "list the keys that a daemon knows, or exchange their configurations with other sites");
  add_daemon_option(*verb, options->daemon);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "Examples:\n  hocket configs\n  hocket configs export -o configs.json\n"
      "  hocket configs import configs.json\n");
  add_shared_configs(*verb, action);
  verb->callback([options, verb, &action] {
    // CLI11 calls this after the callback of a verb below.
    if (!verb->get_subcommands().empty()) return;
    action = [options](VerbContext& c) { return show_configs(*options, c); };
  });
}

}  // namespace hocket
