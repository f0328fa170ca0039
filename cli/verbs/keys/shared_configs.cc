// hocket configs export, hocket configs import: promoted configurations as a file for other sites.

#include "cli/verbs/keys/shared_configs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/promotion_list.h"
#include "archive/promotions/shared_promotions.h"
#include "archive/studies/owner.h"
#include "archive/studies/study_job.h"
#include "cli/inputs/access/key_source.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/notes.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "core/base/json.h"
#include "core/base/json_members.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"
#include "core/files/private_file.h"
#include "core/files/regular_file.h"
#include "core/sharing/shared_configs.h"
#include "store/open.h"

namespace hocket {
namespace {

constexpr std::size_t kSharedTextBytes = 200;
constexpr std::int64_t kMostKeyBytes = 64 << 10;

struct ExportOptions {
  KeySourceChoice source;
  ExportChoice choice;
  std::string site, output, key_file;
};

/// Exports from a daemon, which is asked for each key, so that no answer is too large.
Result<ExportedConfigs> export_from(HttpClient& daemon, const ExportChoice& choice,
                                    const std::string& site) {
  const auto answer = ask_daemon(daemon, "GET", "/v1/configs");
  HOCKET_TRY(answer);
  ExportedConfigs exported;
  for (const PromotionCandidate& each : listed_promotions(*answer).current) {
    const std::string key = to_string(each.key);
    const bool is_chosen =
        (choice.workload.empty() || each.workload == choice.workload ||
         each.program == choice.workload || each.key.workload.starts_with(choice.workload)) &&
        each.key.topology.starts_with(choice.topology) &&
        (choice.keys.empty() || std::ranges::count(choice.keys, key) > 0);
    if (!is_chosen) continue;
    const auto entry =
        ask_daemon(daemon, "GET", "/v1/configs/" + key + "/shared?site=" + url_encoded(site));
    auto config = entry ? shared_config_from_json(*entry, "the daemon's configuration")
                        : failure(entry.error());
    if (config && key_of(*config) == each.key) {
      exported.configs.push_back(std::move(*config));
      continue;
    }
    if (config) return invalid("the daemon's configuration is of another key than " + key);
    if (config.error().code != ErrorCode::invalid_argument) return failure(config.error());
    exported.notes.push_back(config.error().message);
  }
  return exported;
}

Result<int> export_file(const ExportOptions& options, VerbContext& context) {
  auto source = open_key_source(options.source, false, context.err);
  HOCKET_TRY(source);
  ExportChoice choice = options.choice;
  choice.workload = workload_selector(choice.workload);
  for (std::string& key : choice.keys) {
    auto whole = find_key(*source, key);
    HOCKET_TRY(whole);
    key = std::move(*whole);
  }
  std::string private_key;
  if (!options.key_file.empty()) {
    auto read = read_private_file(options.key_file, kMostKeyBytes, Links::followed);
    if (!read) return failure(as_bad_input(read.error().in("--sign")));
    private_key = std::move(*read);
  }
  auto exported = source->daemon ? export_from(*source->daemon, choice, options.site)
                                 : export_configs(*source->store, choice, options.site);
  HOCKET_TRY(exported);
  print_notes(context.err, exported->notes);
  if (exported->configs.empty())
    return failure(ErrorCode::not_found, "nothing that was asked for is promoted here");
  const std::size_t count = exported->configs.size();
  const auto text = shared_configs_text(std::move(exported->configs), private_key);
  if (!text) return failure(text.error().in("--sign " + options.key_file));
  if (options.output.empty()) {
    context.out << plain_json(*text) << std::flush;
    return kDone;
  }
  HOCKET_TRY(replace_file(options.output, *text));
  context.err << "wrote " << count << (count == 1 ? " configuration" : " configurations") << " to "
              << plain_line(options.output) << std::endl;
  return kDone;
}

struct ImportOptions {
  KeySourceChoice source;
  std::string file, trusted_key_file;
  bool dry_run = false, json = false;
};

/// A dry run into a store that is not there yet sees an empty one, and makes none.
Result<KeySource> open_target(const ImportOptions& options, VerbContext& context) {
  auto source = open_key_source(options.source, !options.dry_run, context.err);
  if (!source && options.dry_run && source.error().code == ErrorCode::not_found)
    return KeySource{nullptr, open_store_in_memory()};
  return source;
}

Result<nlohmann::json> import_into(KeySource& target, const SharedConfigs& shared,
                                   const nlohmann::json& document, bool is_dry_run) {
  if (target.daemon) {
    return ask_daemon(*target.daemon, "POST", is_dry_run ? "/v1/configs?dry_run=1" : "/v1/configs",
                      document);
  }
  const auto outcomes = import_configs(*target.store, shared.configs, actor_text(), is_dry_run);
  HOCKET_TRY(outcomes);
  return import_json(shared.configs, *outcomes);
}

void print_import(const nlohmann::json& answer, VerbContext& context) {
  TextTable table({"key", "workload", "topology", "result", "version", "note"});
  for (const auto& item : list_member(answer, "configs")) {
    const std::string why = text_member(item, "why");
    const auto version = integer_member(item, "version");
    table.add(
        {short_key(text_member(item, "key")),
         printable(text_member(item, "workload"), kSharedTextBytes),
         printable(text_member(item, "topology"), kSharedTextBytes),
         printable(text_member(item, "action"), kSharedTextBytes),
         version == 0 ? "-" : std::to_string(version),
         printable(why.empty() ? "from " + text_member(item, "from") : why, kSharedTextBytes)});
  }
  table.print(context.out);
}

Result<int> import_file(const ImportOptions& options, VerbContext& context) {
  const auto text = read_file(options.file, kMaxSharedConfigsBytes);
  if (!text) return failure(as_bad_input(text.error()));
  const auto shared = read_shared_configs(*text);
  if (!shared) return failure(shared.error().in(options.file));
  if (!options.trusted_key_file.empty()) {
    const auto key = read_file(options.trusted_key_file, kMostKeyBytes);
    if (!key) return failure(as_bad_input(key.error().in("--trust")));
    const auto ok = check_signature(*shared, *key);
    if (!ok) return failure(ok.error().in(options.file + ", by " + options.trusted_key_file));
  } else if (shared->signature) {
    context.err << "note: the signature is not checked; --trust KEY does that" << std::endl;
  }
  auto target = open_target(options, context);
  HOCKET_TRY(target);
  const auto document = parse_object(*text, "file of configurations");
  HOCKET_TRY(document);
  const auto answer = import_into(*target, *shared, *document, options.dry_run);
  HOCKET_TRY(answer);
  if (options.json) {
    context.out << json_text(*answer) << '\n';
    return kDone;
  }
  print_import(*answer, context);
  if (options.dry_run) context.err << "a dry run: nothing was changed" << std::endl;
  return kDone;
}

void add_export(CLI::App& configs, VerbAction& action) {
  auto options = std::make_shared<ExportOptions>();
  auto* verb = configs.add_subcommand("export", "write promoted configurations to a file");
  verb->add_option("KEY", options->choice.keys,
                   "a key, its beginning, or a workload's name (default: all that have a "
                   "configuration)");
  verb->add_option("--workload", options->choice.workload,
                   "those of this workload: its name, the path of its script, or the start of its "
                   "fingerprint");
  verb->add_option("--topology", options->choice.topology,
                   "those of this topology: the start of its fingerprint");
  verb->add_option("--site", options->site,
                   "the name of this place, which those who import the file see");
  verb->add_option("-o,--output", options->output, "the file to write (default: print it)")
      ->type_name("FILE");
  verb->add_option("--sign", options->key_file,
                   "sign the file with this private Ed25519 key (PEM), which nobody else may be "
                   "able to read")
      ->type_name("FILE");
  add_key_source_options(*verb, options->source);
  verb->footer(
      "docs/formats/configs.md says what the file contains.\n"
      "Examples:\n  hocket configs export -o configs.json --site cluster-a\n"
      "  hocket configs export gpt2-6x256 -o configs.json --sign site.pem\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return export_file(*options, c); };
  });
}

void add_import(CLI::App& configs, VerbAction& action) {
  auto options = std::make_shared<ImportOptions>();
  auto* verb = configs.add_subcommand(
      "import", "take the configurations of a file as defaults, where there are no own ones");
  verb->add_option("FILE", options->file, "what `hocket configs export` has written")
      ->required()
      ->type_name("FILE");
  verb->add_option("--trust", options->trusted_key_file,
                   "refuse the file unless it is signed by the key that belongs to this public one "
                   "(PEM)")
      ->type_name("FILE");
  verb->add_flag("--dry-run", options->dry_run, "say what would happen, and change nothing");
  verb->add_flag("--json", options->json, "print JSON");
  add_key_source_options(*verb, options->source);
  verb->footer(
      "What was found here stays: a configuration of the file is used only for a key that has\n"
      "none of its own. Studies and live tuning may replace it as any other.\n"
      "Examples:\n  hocket configs import configs.json --dry-run\n"
      "  hocket configs import configs.json --trust site.pub.pem\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return import_file(*options, c); };
  });
}

}  // namespace

void add_shared_configs(CLI::App& configs, VerbAction& action) {
  add_export(configs, action);
  add_import(configs, action);
}

}  // namespace hocket
