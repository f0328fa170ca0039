// hocket profiles export, rm, prune: the verbs that write or remove files.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/profiles/calibrate_profile.h"
#include "archive/profiles/export_profile.h"
#include "archive/profiles/load_profile.h"
#include "archive/profiles/prune.h"
#include "cli/inputs/access/profile_source.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/terminal.h"
#include "cli/output/text_gate.h"
#include "cli/output/value_text.h"
#include "cli/verbs/profiles/profile_verbs.h"
#include "cli/views/profile_view.h"
#include "core/base/plain_text.h"
#include "store/open.h"
#include "tuner/space/size_text.h"

namespace hocket {
namespace {

constexpr double kDayNs = 24 * 3600e9;
constexpr double kMostDays = 36'500;

struct ExportOptions {
  std::string profile, store, output, format = "perfetto";
  std::optional<std::int64_t> rank;
  bool step = false, json = false;
};

Result<std::string> step_text(const LoadedProfile& profile, std::ostream& err) {
  const auto calibrated = calibrate_profile(profile);
  HOCKET_TRY(calibrated);
  print_notes(err, calibrated->notes);
  return plain_json(to_json(calibrated->calibration.step).dump(2)) + "\n";
}

Result<int> export_verb(const ExportOptions& options, VerbContext& context) {
  const auto format = parse_export_format(options.format);
  if (!format) return failure(format.error().in("--format"));
  const auto store = open_profiles(options.store, false);
  HOCKET_TRY(store);
  const auto row = find_profile(**store, options.profile);
  HOCKET_TRY(row);
  const auto profile = load_profile(*row, {.rank = options.rank});
  HOCKET_TRY(profile);
  const char* suffix = options.step                        ? ".step.json"
                       : *format == ExportFormat::perfetto ? ".pftrace"
                                                           : ".json";
  const std::string path = options.output.empty() ? row->name + suffix : options.output;
  if (options.step) {
    const auto text = step_text(*profile, context.err);
    HOCKET_TRY(text);
    if (path == "-") {
      context.out << *text;
      return kDone;
    }
    HOCKET_TRY(write_whole_file(path, *text));
  } else {
    print_notes(context.err, profile->notes);
    if (path == "-") {
      if (is_terminal(context.out)) {
        return failure(ErrorCode::invalid_argument,
                       "--output -: a timeline is for programs, and a terminal would obey names in "
                       "it; write it to a file, or to a pipe");
      }
      std::ostream file(behind_gate(context.out));
      const auto notes = export_profile(*profile, *format, file);
      HOCKET_TRY(notes);
      print_notes(context.err, *notes);
      return kDone;
    }
    const auto notes = export_profile_to(*profile, *format, path);
    HOCKET_TRY(notes);
    print_notes(context.err, *notes);
  }
  if (options.json) {
    context.out << json_text({{"profile", row->name}, {"file", path}}) << '\n';
  } else {
    context.out << plain_line("wrote " + path)
                << (options.step ? "; `hocket simulate` reads it\n"
                                 : "; open it at https://ui.perfetto.dev\n");
  }
  return kDone;
}

void add_export(CLI::App& profiles, VerbAction& action) {
  auto options = std::make_shared<ExportOptions>();
  auto* verb = profiles.add_subcommand("export", "write a profile as a timeline");
  verb->add_option("PROFILE", options->profile, "its name or number")->required();
  verb->add_option("-o,--output", options->output,
                   "the file (default: the profile's name); - is standard output")
      ->type_name("FILE");
  auto* format =
      verb->add_option("--format", options->format, "perfetto, or chrome: JSON trace events")
          ->type_name("perfetto|chrome")
          ->capture_default_str();
  verb->add_option("--rank", options->rank, "this rank alone");
  verb->add_flag("--step", options->step, "the step description that predictions are made from")
      ->excludes(format);
  add_store_option(*verb, options->store);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "Examples:\n  hocket profiles export gpt2-3\n"
      "  hocket profiles export gpt2-3 --format chrome -o gpt2.json\n"
      "  hocket profiles export gpt2-3 --step -o gpt2.step.json\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return export_verb(*options, c); };
  });
}

/// Options of the verbs that remove profiles.
struct RemovalOptions {
  std::string store;
  bool dry_run = false, json = false;
};

void add_removal_options(CLI::App& verb, RemovalOptions& options) {
  verb.add_flag("--dry-run", options.dry_run, "say what would go, and remove nothing");
  add_store_option(verb, options.store);
  verb.add_flag("--json", options.json, "print JSON");
}

/// Removes what `decide` returns for the store's profiles, and prints it.
Result<int> remove_decided(const RemovalOptions& options, VerbContext& context,
                           const std::function<Result<std::vector<PruneDecision>>(
                               Store&, const std::vector<PruneCandidate>&)>& decide) {
  const auto path = store_path(options.store);
  HOCKET_TRY(path);
  const auto store = open_profiles(options.store, !options.dry_run);
  HOCKET_TRY(store);
  UnreadRows unread;
  const auto candidates = prune_candidates(**store, {}, &unread);
  HOCKET_TRY(candidates);
  auto decisions = decide(**store, *candidates);
  HOCKET_TRY(decisions);
  PruneResult pruned{.removed = std::move(*decisions)};
  if (!options.dry_run) {
    auto done = prune_profiles(**store, *path, pruned.removed);
    HOCKET_TRY(done);
    pruned = std::move(*done);
  }
  if (options.json) {
    auto document = to_json(pruned);
    document["dry_run"] = options.dry_run;
    if (!unread.empty()) document["unreadable"] = unread;
    context.out << json_text(document) << '\n';
  } else {
    print_pruned(context.out, pruned.removed, !options.dry_run);
  }
  print_notes(context.err, unread);
  print_notes(context.err, pruned.notes);
  return pruned.notes.empty() ? kDone : kFailed;
}

struct RemoveOptions {
  RemovalOptions removal;
  std::vector<std::string> profiles;
  bool force = false;
};

/// Returns the decisions to remove the named profiles, each once, or why one of them stays.
Result<std::vector<PruneDecision>> named_profiles(const RemoveOptions& options, Store& store,
                                                  const std::vector<PruneCandidate>& candidates) {
  std::vector<PruneDecision> decisions;
  for (const std::string& name : options.profiles) {
    const auto row = find_named_profile(store, name);
    HOCKET_TRY(row);
    if (row->kept && !options.force) {
      return failure(ErrorCode::invalid_argument,
                     "profile " + row->name +
                         " is kept, so it is not removed; `hocket profiles keep " + row->name +
                         " --release` undoes that, or give --force");
    }
    const auto is_it = [&](std::int64_t id) { return id == row->id; };
    const auto known = [](const PruneDecision& decision) { return decision.profile.id; };
    if (std::ranges::any_of(decisions, is_it, known)) continue;
    const auto candidate = std::ranges::find_if(candidates, is_it, &PruneCandidate::id);
    if (candidate == candidates.end()) continue;  // added since
    decisions.push_back(
        {.profile = *candidate, .reason = "it was named", .even_if_kept = options.force});
  }
  return decisions;
}

void add_remove(CLI::App& profiles, VerbAction& action) {
  auto options = std::make_shared<RemoveOptions>();
  auto* verb = profiles.add_subcommand("rm", "remove profiles and their traces");
  verb->add_option("PROFILE", options->profiles, "their names or numbers")->required();
  verb->add_flag("--force", options->force, "also those that `hocket profiles keep` has marked");
  add_removal_options(*verb, options->removal);
  verb->footer(
      "Nothing is removed when one of them is unknown or kept.\n"
      "Exit status 1 when something could not be removed.\n"
      "Example:\n  hocket profiles rm gpt2-3 gpt2-4\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) {
      return remove_decided(options->removal, c, [&](Store& store, const auto& candidates) {
        return named_profiles(*options, store, candidates);
      });
    };
  });
}

struct PruneOptions {
  RemovalOptions removal;
  std::optional<std::int64_t> keep;
  std::optional<double> older_than_days;
  std::string max_size;
};

Result<PruneRule> prune_rule(const PruneOptions& options) {
  PruneRule rule;
  if (options.keep && *options.keep < 0) {
    return failure(ErrorCode::invalid_argument, "--keep: expected a number of at least 0, found " +
                                                    std::to_string(*options.keep));
  }
  rule.newest = options.keep;
  if (const auto days = options.older_than_days) {
    if (!(*days >= 0 && *days <= kMostDays)) {
      return failure(ErrorCode::invalid_argument,
                     "--older-than: expected a number of days from 0 to " +
                         value_text(kMostDays, ObjectiveUnit::none) + ", found " +
                         value_text(*days, ObjectiveUnit::none));
    }
    rule.older_than_ns = static_cast<std::int64_t>(*days * kDayNs);
  }
  if (!options.max_size.empty()) {
    const auto bytes = parse_size(options.max_size);
    if (!bytes) return failure(bytes.error().in("--max-size"));
    rule.total_bytes = *bytes;
  }
  if (!rule.newest && !rule.older_than_ns && !rule.total_bytes) {
    return failure(ErrorCode::invalid_argument,
                   "prune needs a rule: --keep N, --older-than DAYS or --max-size SIZE");
  }
  return rule;
}

Result<int> prune_verb(const PruneOptions& options, VerbContext& context) {
  const auto rule = prune_rule(options);
  HOCKET_TRY(rule);
  return remove_decided(options.removal, context, [&](Store&, const auto& candidates) {
    return Result<std::vector<PruneDecision>>(decide_prune(candidates, *rule, system_unix_ns()));
  });
}

void add_rule_prune(CLI::App& profiles, VerbAction& action) {
  auto options = std::make_shared<PruneOptions>();
  auto* verb = profiles.add_subcommand("prune", "remove old profiles and their traces");
  verb->add_option("--keep", options->keep, "so many of the newest stay");
  verb->add_option("--older-than", options->older_than_days,
                   "what is older than so many days goes");
  verb->add_option("--max-size", options->max_size,
                   "the traces of what stays are no larger, such as 10GiB");
  add_removal_options(*verb, options->removal);
  verb->footer(
      "Profiles that `hocket profiles keep` has marked stay. What any rule names goes.\n"
      "Exit status 1 when something could not be removed.\n"
      "Example:\n  hocket profiles prune --keep 20 --max-size 10GiB\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return prune_verb(*options, c); };
  });
}

}  // namespace

void add_profile_files(CLI::App& profiles, VerbAction& action) {
  add_export(profiles, action);
  add_profile_import(profiles, action);
  add_remove(profiles, action);
  add_rule_prune(profiles, action);
}

}  // namespace hocket
