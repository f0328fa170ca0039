// hocket studies: lists all studies of the store, follows one, and removes some.

#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/studies/owner.h"
#include "archive/studies/study_result.h"
#include "archive/studies/study_state.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/notes.h"
#include "cli/output/table.h"
#include "cli/process/interrupt.h"
#include "cli/verbs/studies/follow.h"
#include "cli/verbs/studies/studies_verbs.h"
#include "cli/verbs/verb.h"
#include "cli/views/result_view.h"
#include "client/link/environment.h"
#include "core/base/text.h"
#include "store/store_uri.h"
#include "tuner/trial/cancel.h"

namespace hocket {
namespace {

struct StudyLine {
  StudyRow study;
  StudyView view;
  std::size_t trials = 0;
};

constexpr std::size_t kCommandLimitBytes = 60;

/// Leaves out the studies that cannot be read; `unread` says which.
Result<std::vector<StudyLine>> read_lines(Store& store, UnreadRows& unread) {
  auto studies = store.studies(&unread);
  HOCKET_TRY(studies);
  std::vector<StudyLine> lines;
  for (auto& study : *studies) {
    auto view = study_view(store, study, unread);
    if (!view) {
      unread.push_back(view.error().message);
      continue;
    }
    const auto trials = store.trials(study.id, TrialDetail::summary, &unread);
    if (!trials && trials.error().code == ErrorCode::timed_out) return failure(trials.error());
    if (!trials) {
      unread.push_back(trials.error().in("study " + study.name).message);
      continue;
    }
    lines.push_back({std::move(study), std::move(*view), trials->size()});
  }
  return lines;
}

/// Returns the state as people read it; a running study whose process is gone is interrupted.
std::string state_text(const StudyRow& study, const HostView& host) {
  return std::string(is_orphan(study, host) ? to_string(StudyState::interrupted)
                                            : shown_state(study));
}

/// Returns for example "19.8 % better", "19.8 % better than assumed" (where the default is) or
/// "default stays"; empty if there is no result.
std::string outcome_text(const StudyRow& study, const StudyView& view) {
  const auto result = study_result_from_json(study.result);
  if (!result) return {};
  if (!result->best.value) return "no trial completed";
  if (!result->front.empty()) {
    const auto confirmed =
        std::ranges::count(result->front, FrontState::confirmed, &FrontPoint::state);
    return "a front of " + std::to_string(result->front.size()) + ", " + std::to_string(confirmed) +
           " confirmed";
  }
  if (!result->promoted) return "default stays";
  if (!(result->gain > 0)) return "default failed";
  const bool is_assumed = !assumed_parameters(view.default_sources).empty();
  return percent_text(result->gain) + " better" + (is_assumed ? " than assumed" : "");
}

nlohmann::json line_json(const StudyLine& line, const HostView& host) {
  auto document = to_json(line.view);
  document["name"] = line.study.name;
  document["state"] = state_text(line.study, host);
  document["command"] = line.study.command;
  document["trials"] = line.trials;
  document["created_at"] = time_text(line.study.created_at_ns);
  document["updated_at"] = time_text(line.study.updated_at_ns);
  document["result"] = line.study.result;
  return document;
}

Result<int> show_studies(const StudiesOptions& options, VerbContext& context) {
  const auto store = open_for_reading(options.store);
  HOCKET_TRY(store);
  UnreadRows unread;
  const auto lines = read_lines(**store, unread);
  HOCKET_TRY(lines);
  print_notes(context.err, unread);
  const HostView host = this_host();
  if (options.json) {
    auto list = nlohmann::json::array();
    for (const auto& line : *lines) list.push_back(line_json(line, host));
    nlohmann::json document = {{"studies", std::move(list)}};
    if (!unread.empty()) document["unreadable"] = unread;
    context.out << json_text(document) << '\n';
    return kDone;
  }
  TextTable table(
      {"study", "state", "trials", "workload", "created", "result", "topology", "command"});
  for (const auto& line : *lines) {
    table.add({line.study.name, state_text(line.study, host), std::to_string(line.trials),
               printable(line.view.workload, kCommandLimitBytes),
               time_text(line.study.created_at_ns), outcome_text(line.study, line.view),
               place_text(line.view),
               printable(shell_text(line.study.command), kCommandLimitBytes)});
  }
  table.print(context.out);
  return kDone;
}

Result<int> follow(const StudiesOptions& options, const std::string& study, VerbContext& context) {
  constexpr int kLookMs = 500;
  const auto store = open_for_reading(options.store);
  HOCKET_TRY(store);
  CancelToken interrupted;
  const InterruptGuard guard(interrupted);
  const auto wait = [&] {
    pollfd file = {interrupted.fd(), POLLIN, 0};
    (void)poll(&file, 1, kLookMs);
    return !interrupted.cancelled();
  };
  return follow_study(**store, {study, options.json, this_host(), wait}, context);
}

struct StudyRemovalOptions {
  std::vector<std::string> studies;
  bool force = false, dry_run = false;
};

/// A study to remove, and what comes of it.
struct StudyRemoval {
  StudyRow study;
  std::size_t trials = 0;
  std::vector<std::int64_t> versions;  ///< promoted by it; they stay
};

/// Returns who may be running the study; empty if nobody is.
std::string runner_text(const StudyRow& study, const HostView& host) {
  if (study.state != StudyState::running) return {};
  switch (owner_state(study.owner, host)) {
    case OwnerState::gone:
      return {};
    case OwnerState::alive:
      return "process " + study.owner.substr(0, study.owner.find('@'));
    case OwnerState::unknown:
      break;
  }
  if (study.owner == kWorkersOwner) return "workers that a daemon gives trials to";
  if (study.owner == kDaemonOwner) return "a daemon, on a job that trains";
  return printable(study.owner, kCommandLimitBytes);
}

/// Returns the named studies, each once, or why one of them stays.
Result<std::vector<StudyRemoval>> named_studies(Store& store, const StudyRemovalOptions& options) {
  const HostView host = this_host();
  std::vector<StudyRemoval> named;
  for (const std::string& name : options.studies) {
    auto study = store.study(name);
    HOCKET_TRY(study);
    const auto id_of = [](const StudyRemoval& removal) { return removal.study.id; };
    if (std::ranges::find(named, study->id, id_of) != named.end()) continue;
    const std::string runner = runner_text(*study, host);
    if (!runner.empty() && !options.force) {
      return failure(ErrorCode::invalid_argument,
                     "study " + study->name + " is run by " + runner +
                         ", so it is not removed; wait for its end, or give --force");
    }
    const auto trials = store.trials(study->id, TrialDetail::summary);
    HOCKET_TRY(trials);
    const auto promoted = store.promotions({.study_id = study->id});
    HOCKET_TRY(promoted);
    StudyRemoval removal{std::move(*study), trials->size(), {}};
    for (const PromotionRow& version : *promoted) removal.versions.push_back(version.id);
    named.push_back(std::move(removal));
  }
  return named;
}

/// Removes them. Those that stay leave `removals`; returns why, for each of them.
std::vector<std::string> remove_each(Store& store, std::vector<StudyRemoval>& removals) {
  std::vector<std::string> notes;
  const std::string actor = actor_text();
  std::erase_if(removals, [&](const StudyRemoval& removal) {
    const StudyRow& study = removal.study;
    const auto removed = store.remove_study(study.id, study.owner, actor);
    if (!removed) notes.push_back("study " + study.name + " stays: " + removed.error().message);
    return !removed;
  });
  return notes;
}

std::string versions_text(const std::vector<std::int64_t>& versions) {
  std::string text;
  for (const std::int64_t version : versions) {
    text += (text.empty() ? "" : ", ") + std::to_string(version);
  }
  return text.empty() ? "-" : text;
}

void print_removals(const std::vector<StudyRemoval>& removals, const HostView& host, bool dry_run,
                    std::ostream& out) {
  TextTable table({dry_run ? "would go" : "removed", "state", "trials", "versions that stay"});
  for (const StudyRemoval& removal : removals) {
    table.add({removal.study.name, state_text(removal.study, host), std::to_string(removal.trials),
               versions_text(removal.versions)});
  }
  table.print(out);
}

nlohmann::json removals_json(const std::vector<StudyRemoval>& removals, const HostView& host) {
  auto list = nlohmann::json::array();
  for (const StudyRemoval& removal : removals) {
    list.push_back({{"study", removal.study.name},
                    {"id", removal.study.id},
                    {"state", state_text(removal.study, host)},
                    {"trials", removal.trials},
                    {"versions", removal.versions}});
  }
  return list;
}

Result<int> remove_studies(const StudiesOptions& common, const StudyRemovalOptions& options,
                           VerbContext& context) {
  const auto path = store_path(common.store);
  HOCKET_TRY(path);
  const auto store = options.dry_run ? open_for_reading(common.store) : open_existing(common.store);
  HOCKET_TRY(store);
  auto removals = named_studies(**store, options);
  HOCKET_TRY(removals);
  if (common.store.empty() && !process_environment("HOCKET_DAEMON").value_or("").empty()) {
    context.err << "note: this is about the store " << shown_store(*path)
                << "; a daemon's studies are removed on its host, with its store\n";
  }
  std::vector<std::string> notes;
  if (!options.dry_run) notes = remove_each(**store, *removals);
  if (common.json) {
    context.out << json_text({{"removed", removals_json(*removals, this_host())},
                              {"notes", notes},
                              {"dry_run", options.dry_run}})
                << '\n';
  } else {
    print_removals(*removals, this_host(), options.dry_run, context.out);
  }
  for (const auto& note : notes) context.err << "note: " << note << '\n';
  return notes.empty() ? kDone : kFailed;
}

void add_remove_studies(CLI::App& studies, const std::shared_ptr<StudiesOptions>& common,
                        VerbAction& action) {
  auto options = std::make_shared<StudyRemovalOptions>();
  auto* verb = studies.add_subcommand("rm", "remove studies and their trials");
  verb->add_option("STUDY", options->studies, "their names or numbers")->required();
  verb->add_flag("--force", options->force, "also those that are running");
  verb->add_flag("--dry-run", options->dry_run, "say what would go, and remove nothing");
  add_common_options(*verb, *common);
  verb->footer(
      "Nothing is removed when one of them is unknown or running. Versions that a study has\n"
      "promoted stay in force: `hocket rollback` takes them back. `hocket audit` shows who\n"
      "removed a study. A daemon's studies are removed on its host, with its --store.\n"
      "Example:\n  hocket studies rm gpt2-3 --dry-run\n");
  verb->callback([common, options, &action] {
    action = [common, options](VerbContext& c) { return remove_studies(*common, *options, c); };
  });
}

}  // namespace

void add_common_options(CLI::App& verb, StudiesOptions& common) {
  add_store_option(verb, common.store);
  verb.add_flag("--json", common.json, "print JSON");
}

void add_studies(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<StudiesOptions>();
  auto followed = std::make_shared<std::string>();
  auto* verb = program.add_subcommand(
      "studies", "list the studies of the store, follow one, compare two, or remove some");
  add_common_options(*verb, *options);
  auto* follow_option =
      verb->add_option("--follow", *followed,
                       "show the progress of a study that another process runs, by its name or "
                       "number, until it ends; without one the newest that runs")
          ->type_name("STUDY")
          ->expected(0, 1);
  verb->footer(
      "With --json, --follow prints one JSON object a line: each trial that finishes, then the "
      "end\n"
      "of the study. VALUE ± SPREAD is the median of a run's values and half their interquartile\n"
      "range.\n"
      "Examples:\n  hocket studies\n  hocket studies --follow\n  hocket studies rm gpt2-3\n"
      "  hocket studies diff gpt2-3 gpt2-4\n  hocket studies promote gpt2-3 7\n");
  add_remove_studies(*verb, options, action);
  add_diff_studies(*verb, options, action);
  add_promote_point(*verb, options, action);
  verb->callback([options, followed, follow_option, verb, &action] {
    // CLI11 calls this after the callback of a verb below.
    if (!verb->get_subcommands().empty()) return;
    action = [options](VerbContext& c) { return show_studies(*options, c); };
    if (follow_option->count() == 0) return;
    action = [options, followed](VerbContext& c) { return follow(*options, *followed, c); };
  });
}

}  // namespace hocket
