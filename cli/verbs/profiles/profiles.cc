// hocket profiles: lists, shows and compares profiles.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "archive/studies/study_job.h"
#include "cli/inputs/access/profile_source.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/value_text.h"
#include "cli/verbs/profiles/profile_verbs.h"
#include "cli/verbs/verb.h"
#include "cli/views/profile_view.h"

namespace hocket {
namespace {

struct ProfilesOptions {
  std::string profile, other, store;
  std::optional<std::int64_t> rank;
  std::size_t tasks = 20;
  bool json = false, release = false, all = false;
};

Result<int> list_profiles(const ProfilesOptions& options, VerbContext& context) {
  const auto store = open_profiles(options.store, false);
  HOCKET_TRY(store);
  UnreadRows unread;
  const auto profiles = summarize_profiles(**store, &unread);
  HOCKET_TRY(profiles);
  print_notes(context.err, unread);
  if (options.json) {
    auto list = nlohmann::json::array();
    for (const ProfileSummary& profile : *profiles) list.push_back(to_json(profile));
    nlohmann::json document = {{"profiles", std::move(list)}};
    if (!unread.empty()) document["unreadable"] = unread;
    context.out << json_text(document) << '\n';
  } else {
    print_profiles(context.out, *profiles);
  }
  return kDone;
}

Result<int> show_profile(const ProfilesOptions& options, VerbContext& context) {
  const auto store = open_profiles(options.store, false);
  HOCKET_TRY(store);
  const auto row = find_profile(**store, options.profile);
  HOCKET_TRY(row);
  const auto summary = summarize_profile(**store, *row);
  HOCKET_TRY(summary);
  if (options.json) {
    context.out << json_text(to_json(*summary)) << '\n';
  } else {
    print_profile(context.out, *summary, options.all ? ShownDetail::all : ShownDetail::summary);
  }
  return kDone;
}

Result<int> show_metrics(const ProfilesOptions& options, VerbContext& context) {
  const auto store = open_profiles(options.store, false);
  HOCKET_TRY(store);
  const auto row = find_profile(**store, options.profile);
  HOCKET_TRY(row);
  const auto figures = profile_figures(**store, *row, options.rank);
  HOCKET_TRY(figures);
  if (options.json) {
    context.out << json_text(to_json(*figures)) << '\n';
  } else {
    std::ostringstream text;
    print_figures(text, *figures);
    context.out << context.placed(text.str());
  }
  return kDone;
}

Result<int> show_difference(const ProfilesOptions& options, VerbContext& context) {
  const auto store = open_profiles(options.store, false);
  HOCKET_TRY(store);
  const auto before = find_profile(**store, options.profile);
  HOCKET_TRY(before);
  const auto after = find_profile(**store, options.other);
  HOCKET_TRY(after);
  const auto difference = diff_profiles(**store, *before, *after);
  HOCKET_TRY(difference);
  if (options.json) {
    context.out << json_text(to_json(*difference)) << '\n';
  } else {
    std::ostringstream text;
    print_difference(text, *difference, options.tasks);
    context.out << context.placed(text.str());
  }
  return kDone;
}

Result<int> keep_profile(const ProfilesOptions& options, VerbContext& context) {
  const auto store = open_profiles(options.store, true);
  HOCKET_TRY(store);
  const auto row = find_profile(**store, options.profile);
  HOCKET_TRY(row);
  HOCKET_TRY((*store)->keep_profile(row->id, !options.release));
  if (options.json) {
    context.out << json_text({{"profile", row->name}, {"kept", !options.release}}) << '\n';
  } else {
    context.out << "profile " << row->name
                << (options.release ? " may be pruned\n" : " is kept, whatever is pruned\n");
  }
  return kDone;
}

/// Adds a verb with the options common to all of them.
CLI::App* add_one(CLI::App& profiles, VerbAction& action, const char* name, const char* help,
                  Result<int> (*perform)(const ProfilesOptions&, VerbContext&),
                  const std::shared_ptr<ProfilesOptions>& options) {
  auto* verb = profiles.add_subcommand(name, help);
  add_store_option(*verb, options->store);
  verb->add_flag("--json", options->json, "print JSON");
  verb->callback([options, perform, &action] {
    action = [options, perform](VerbContext& context) { return perform(*options, context); };
  });
  return verb;
}

}  // namespace

void add_profiles(CLI::App& program, VerbAction& action) {
  auto* verb = program.add_subcommand("profiles", "list, compare, export and remove profiles");
  verb->require_subcommand(1);
  verb->footer(
      "docs/guides/profiles.md is a guide.\n"
      "Examples:\n  hocket profiles list\n  hocket profiles metrics gpt2-3\n"
      "  hocket profiles diff gpt2-3 gpt2-4\n  hocket profiles export gpt2-3\n");
  add_one(*verb, action, "list", "list the profiles of the store", list_profiles,
          std::make_shared<ProfilesOptions>());
  const auto add_of_one = [&](const char* name, const char* help, auto perform) {
    auto options = std::make_shared<ProfilesOptions>();
    auto* one = add_one(*verb, action, name, help, perform, options);
    one->add_option("PROFILE", options->profile, "its name or number")->required();
    return std::pair(one, options);
  };
  const auto [show, show_options] =
      add_of_one("show", "show what a profile is of, and what is missing in it", show_profile);
  show->add_flag("--all", show_options->all,
                 "a line for each rank without a trace and for each note, not their number");
  const auto [metrics, metrics_options] =
      add_of_one("metrics", "show a profile's figures (docs/METRICS.md)", show_metrics);
  metrics->add_option("--rank", metrics_options->rank, "this rank's alone");
  const auto [diff, diff_options] =
      add_of_one("diff", "show what changed from a profile to another", show_difference);
  diff->add_option("OTHER", diff_options->other, "the other one")->required();
  diff->add_option("--tasks", diff_options->tasks, "show so many tasks")->capture_default_str();
  const auto [keep, keep_options] =
      add_of_one("keep", "keep a profile from being pruned", keep_profile);
  keep->add_flag("--release", keep_options->release, "let it be pruned again");
  add_profile_files(*verb, action);
}

}  // namespace hocket
