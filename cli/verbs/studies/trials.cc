// hocket trials: lists all trials of a study.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>

#include "cli/inputs/access/store_access.h"
#include "cli/output/notes.h"
#include "cli/verbs/verb.h"
#include "cli/views/output_view.h"
#include "cli/views/result_view.h"
#include "core/base/text.h"

namespace hocket {
namespace {

struct TrialsOptions {
  std::string study, store;
  std::optional<std::int64_t> log;
  bool json = false, csv = false;
};

constexpr std::size_t kMessageBytes = 4096;

/// Shows how one trial ended and what it printed.
Result<int> show_log(const TrialsOptions& options, VerbContext& context, Store& store,
                     const StudyRow& study, std::span<const TrialRow> trials) {
  const auto trial = std::ranges::find(trials, *options.log, &TrialRow::number);
  if (trial == trials.end()) {
    return failure(ErrorCode::not_found, "study " + study.name + " has no trial " +
                                             std::to_string(*options.log) + "; it has " +
                                             std::to_string(trials.size()));
  }
  // The table cuts messages.
  context.err << "trial " << trial->number << ", " << params_text(trial->params) << ": "
              << to_string(trial->state) << (trial->message.empty() ? "" : ": ")
              << printable(trial->message, kMessageBytes) << std::endl;
  const auto output = store.trial_output(trial->id);
  HOCKET_TRY(output);
  if (!*output) {
    return failure(ErrorCode::not_found,
                   "there is no output of trial " + std::to_string(*options.log) + " of study " +
                       study.name + ": it printed nothing, still runs, or is not among the last " +
                       std::to_string(kMostTrialOutputs) + " trials of the store");
  }
  if (options.json) {
    context.out << json_text({{"study", study.name},
                              {"number", trial->number},
                              {"stdout", (*output)->stdout_text},
                              {"stderr", (*output)->stderr_text}})
                << '\n';
    return kDone;
  }
  print_output(context.out, **output);
  return kDone;
}

Result<int> show_trials(const TrialsOptions& options, VerbContext& context) {
  const auto store = open_for_reading(options.store);
  HOCKET_TRY(store);
  const auto study = (*store)->study(options.study);
  HOCKET_TRY(study);
  UnreadRows unread;
  const auto view = study_view(**store, *study, unread);
  HOCKET_TRY(view);
  const bool is_for_programs = options.json || options.csv;
  const auto trials = (*store)->trials(
      study->id, is_for_programs ? TrialDetail::with_measurements : detail_for(*view), &unread);
  HOCKET_TRY(trials);
  print_notes(context.err, unread);
  if (options.log) return show_log(options, context, **store, *study, *trials);
  if (options.csv) {
    print_trials_csv(context.out, *trials, *view);
    return kDone;
  }
  if (options.json) {
    auto document = to_json(*view);
    document["trials"] = trials_json(*trials);
    if (!unread.empty()) document["unreadable"] = unread;
    context.out << json_text(document) << '\n';
    return kDone;
  }
  print_heading(context.out, *view);
  print_trials(context.out, *trials, *view);
  const auto failed = std::ranges::find_if(*trials, [](const TrialRow& trial) {
    return trial.state == TrialState::failed || trial.state == TrialState::timeout;
  });
  if (failed != trials->end()) {
    context.err << "--log " << failed->number << " shows what trial " << failed->number
                << " printed" << std::endl;
  }
  return kDone;
}

}  // namespace

void add_trials(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<TrialsOptions>();
  auto* verb = program.add_subcommand("trials", "show every trial of a study");
  verb->add_option("STUDY", options->study, "its name or number")->required();
  add_store_option(*verb, options->store);
  auto* json = verb->add_flag("--json", options->json, "print JSON");
  auto* log = verb->add_option("--log", options->log,
                               "print the output of this trial: of each stream the first and the "
                               "last 16 KiB");
  verb->add_flag("--csv", options->csv,
                 "print the finished trials, confirmations included, with spread and times, as a "
                 "table that `hocket replay` reads")
      ->excludes(json)
      ->excludes(log);
  verb->footer(
      "Examples:\n  hocket trials gpt2-1\n"
      "  hocket trials gpt2-1 --log 3\n"
      "  hocket trials gpt2-1 --csv > gpt2-1.csv\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_trials(*options, c); };
  });
}

}  // namespace hocket
