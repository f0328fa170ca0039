// hocket tune: runs a command under many settings and promotes the best.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/promoted_setting.h"
#include "archive/promotions/promotion_choice.h"
#include "archive/promotions/stored_promotions.h"
#include "archive/studies/donor_source.h"
#include "archive/studies/interim_study.h"
#include "archive/studies/open_study.h"
#include "archive/studies/plain_job.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_result.h"
#include "cli/base/command_line.h"
#include "cli/inputs/access/shown_commands.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/interim_text.h"
#include "cli/output/notes.h"
#include "cli/output/value_text.h"
#include "cli/process/harmless_signal.h"
#include "cli/process/own_job.h"
#include "cli/study/slurm_workers.h"
#include "cli/study/study_run.h"
#include "cli/verbs/studies/searched_variables.h"
#include "cli/verbs/studies/tune_options.h"
#include "cli/verbs/verb.h"
#include "cli/views/front_view.h"
#include "cli/views/output_view.h"
#include "cli/views/result_view.h"
#include "cli/views/version_view.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"
#include "core/host/topology_probe.h"
#include "store/store_uri.h"
#include "tuner/slurm/slurm_options.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

/// Lines of each stream that are shown when the default fails.
constexpr std::size_t kLastLines = 10;

constexpr const char* kTuneFooter =
    "hocket tune [options] -- COMMAND…\n"
    "Runs COMMAND once for each trial. Parameters reach it as environment variables and as {NAME}\n"
    "in its arguments (a shell's ${NAME} is left to the shell); {TRIAL} is the trial's number. "
    "The\n"
    "scheduler's knobs, which are tuned when no --param is given, also as\n"
    "HOCKET_CONFIG. Ends with 0 when the winner was promoted and 3 when the default stays.\n"
    "Of several matches of a pattern in one run the median counts, behind the warm-up. VALUE ± "
    "SPREAD\n"
    "is that median and half the interquartile range of the matches; of a setting that ran "
    "several\n"
    "times, the median of its runs and half their interquartile range.\n"
    "With --max-time the time for the confirmation is set aside as soon as the first trial has "
    "shown\n"
    "what a run takes; what does not fit is not begun, and the command that does it later is "
    "shown.\n"
    "Settings that fail a --require are never tried: + - * / and brackets over parameters and\n"
    "numbers, and one of <= < >= > == !=. Sizes: K, M, G or KiB, MiB, GiB are powers of 1024; KB,\n"
    "MB, GB are powers of 1000.\n"
    "Examples:\n"
    "  hocket tune -- hocket run --ranks 2 -- ./train --steps 20\n"
    "  hocket tune --param THREADS=int:1..16 --objective wall -- ./work --threads {THREADS}\n"
    "  hocket tune --param B=int:64K..64M:log --objective 'regex:step_ms=([0-9.]+)' -- ./job {B}\n"
    "  hocket tune --param B=int:1..64 --objective 'max:speed[tokens/s]=regex:tok/s=([0-9.]+)' -- "
    "./job "
    "{B}\n"
    "  hocket tune --require 'credit_bytes>=partition_bytes' -- ./train\n"
    "  hocket tune --param BATCH=levels:8,16,32 --param LEN=int:64..1K --require 'BATCH*LEN<=16K' "
    "\\\n"
    "      -- ./job\n"
    "  hocket tune --param N=int:1..32 --param ALGO=choice:ring,tree --require 'N<=16 if "
    "ALGO==tree' \\\n"
    "      -- ./job {N} {ALGO}\n"
    "  hocket tune --limit 'memory<=4G' -- ./job\n"
    "  hocket tune --objective report --objective memory -- ./job\n"
    "  hocket tune --workers 4 --param B=int:1..64 -- ./job {B}\n"
    "  hocket tune --slurm '--nodes 4 --time 10:00' --workers 3 -- srun ./train\n"
    "  hocket tune --max-time 3m --param B=int:1..64 -- ./job {B}\n"
    "  hocket tune --knobs torch:ddp -- hocket torch -- torchrun --nproc-per-node 2 train.py\n"
    "  hocket tune --knobs nccl@2.19 --objective 'regex:step_ms=([0-9.]+)' -- torchrun train.py\n"
    "  hocket tune --resume --trials 40\n"
    "  hocket tune --from job-1 --param B=int:1..64 -- ./job {B}\n";

/// A new study, or the one to resume, checked before anything is written.
Result<OpenStudy> open_study(const TuneOptions& options, VerbContext& context,
                             std::unique_ptr<Store>& store) {
  const auto open = [&]() -> Result<void> {
    auto opened = open_for_writing(options.store);
    HOCKET_TRY(opened);
    store = std::move(*opened);
    return {};
  };
  if (options.resume) {
    HOCKET_TRY(open());
    const auto place = store_path(options.store);
    HOCKET_TRY(place);
    return resume_study(*store, {.name = options.study,
                                 .is_shared = is_postgres_uri(*place),
                                 .command = context.command.value_or(std::vector<std::string>()),
                                 .take_over = options.take_over,
                                 .keep_going = options.keep_going,
                                 .workers = options.workers,
                                 .trials = options.trials,
                                 .accept_changes = options.accept_changes,
                                 .slurm = options.slurm});
  }
  auto command = required_command(context.command, "tune");
  HOCKET_TRY(command);
  std::vector<std::string> notes;
  auto definition = study_definition(options, *command, &notes);
  HOCKET_TRY(definition);
  for (const std::string& note : notes) context.err << plain_line("note: " + note) << std::endl;
  HOCKET_TRY(allow_variables(definition->space, options.allowed_variables, context));
  const auto topology = probe_topology();
  HOCKET_TRY(topology);
  HOCKET_TRY(open());
  if (definition->transfer && !definition->transfer->empty()) {
    // The job is not known yet, but it can already be checked that a study can start from the
    // study.
    const auto donor = named_donor(*store, *definition->transfer, *definition, {}, *command);
    if (!donor)
      return failure(as_bad_input(donor.error().in(definition->goes_on ? "--from" : "--transfer")));
  }
  auto workload =
      plain_workload(*command, definition->working_directory, definition->space, options.workload);
  return start_study(*store, {.definition = std::move(*definition),
                              .command = std::move(*command),
                              .name = options.study,
                              .workload = std::move(workload),
                              .topology = *topology});
}

/// Returns the command line that fetches the promoted configuration.
Result<std::string> fetch_line(Store& store, const StudyRow& study, const TuneOptions& options) {
  const auto host = probe_topology();
  HOCKET_TRY(host);
  const auto promotions = current_promotions(store);
  HOCKET_TRY(promotions);
  const auto own = std::ranges::find_if(*promotions, [&](const PromotedVersions& each) {
    return each.promotion.study_id == study.id;
  });
  if (own != promotions->end()) {
    const auto index = static_cast<std::size_t>(own - promotions->begin());
    return "hocket fetch " + shell_text(fetch_arguments(candidates_of(*promotions), index, *host)) +
           store_argument_for_start(options.store);
  }
  return failure(ErrorCode::not_found, "the promotion of study " + study.name +
                                           " was replaced by another at the same moment");
}

/// Returns how to go on after a study in which nothing completed.
std::string advice(const TuneOptions& options, const OpenStudy& open, const StudyResult& result) {
  const std::string correct = "; correct the command, its parameters, the objective or the limits";
  if (result.trials.size() > 1 || !open.definition.needs_default) return correct;
  return correct + " and start again, or search for a setting that works: hocket tune --resume " +
         "--study " + open.study.name + store_argument(options.store) + " --keep-going";
}

/// Shows the end of what the first trial printed, which says most about why it failed.
Result<void> show_failed_default(const TuneOptions& options, VerbContext& context, Store& store,
                                 const StudyRow& study, const TrialRow& first) {
  const auto output = store.trial_output(first.id);
  HOCKET_TRY(output);
  if (!*output) {
    context.err << "the default printed nothing" << std::endl;
    return {};
  }
  context.err << "the last lines of the default's output (all that is kept: hocket trials "
              << study.name << store_argument(options.store) << " --log " << first.number << "):\n";
  print_output_end(context.err, **output, kLastLines);
  return {};
}

/// Prints the trials and the result as tables.
void print_tables(std::ostream& out, const StudyResult& result, const StudyView& view,
                  const StudyRow& study, const std::vector<TrialRow>& trials,
                  const std::string& store_argument) {
  print_heading(out, view);
  print_trials(out, trials, view);
  if (!result.best.value) return;
  out << '\n';
  if (result.front.empty()) {
    print_result(out, result, view);
  } else {
    print_front(out, result, view, study.command, store_argument);
  }
}

/// Returns the arguments with which `hocket with` finds what the study promoted for its command.
std::string arguments_of_with(Store& store, const StudyRow& study, const TuneOptions& options) {
  std::string arguments;
  if (!options.workload.empty()) {
    arguments = " --workload " + shell_quoted(options.workload);
  } else if (const auto workload = workload_of(store, study);
             !workload || workload->program.empty()) {
    // The job named its workload itself, or the user did when the study began.
    arguments = " --study " + study.name;
  }
  for (const std::string& text : options.knobs) {
    const auto selection = parse_knob_selection(text);
    if (selection && selection->is_path) arguments += " --knobs " + shell_quoted(selection->source);
  }
  return arguments + store_argument_for_start(options.store);
}

/// Prints what came of the study's promotion: `fetch` gets it, if that is not empty.
void print_promotion(std::ostream& out, const std::optional<PromotionRow>& version,
                     const StudyRow& study, const std::string& fetch,
                     const std::string& with_arguments, bool has_knob) {
  if (version && version->stage == PromotionStage::held)
    out << standing_text(*version, study.name) << '\n';
  if (fetch.empty()) return;
  out << "fetch it with: " << fetch << '\n';
  if (!placeholders_of(study.command).empty() || has_knob)
    out << "run with it: hocket with" << with_arguments << " -- "
        << plain_line(shell_text(study.command)) << '\n';
}

/// Returns a result as that of a study that has not ended.
InterimStudy interim_of(const OpenStudy& open, const StudyResult& result) {
  InterimStudy interim{open.study.name, open.definition, result};
  interim.searched = std::ranges::count(result.trials, TrialPhase::search, &Trial::phase);
  interim.definition.objective = resolved_objective(open.definition.objective, result.trials);
  return interim;
}

Result<void> show(const TuneOptions& options, VerbContext& context, Store& store,
                  const OpenStudy& open, const StudyResult& result) {
  const std::int64_t study_id = open.study.id;
  const auto study = store.study(std::to_string(study_id));
  HOCKET_TRY(study);
  const InterimStudy interim = interim_of(open, result);
  UnreadRows unread;
  const auto view = study_view(store, *study, unread);
  HOCKET_TRY(view);
  print_notes(context.err, unread);
  const auto trials =
      store.trials(study_id, options.json ? TrialDetail::with_measurements : detail_for(*view));
  HOCKET_TRY(trials);
  const auto version = version_of(store, *study);
  HOCKET_TRY(version);
  const bool is_held = *version && (*version)->stage == PromotionStage::held;
  std::string fetch;
  if (result.promoted && !is_held) {
    auto line = fetch_line(store, *study, options);
    HOCKET_TRY(line);
    fetch = std::move(*line);
  }
  if (!result.best.value && !result.is_interim) {
    HOCKET_TRY(show_failed_default(options, context, store, *study, trials->front()));
  }
  if (options.json) {
    auto document = to_json(*view);
    document.update(to_json(result));
    document["trials"] = trials_json(*trials);
    if (result.is_interim)
      document["go_on"] = going_on_command(interim, store_argument(options.store));
    document["fetch"] = fetch.empty() ? nlohmann::json() : nlohmann::json(fetch);
    context.out << json_text(document) << '\n';
    return {};
  }
  print_tables(context.out, result, *view, *study, *trials, store_argument(options.store));
  if (result.is_interim) {
    context.out << interim_text(interim, store_argument(options.store)) << '\n';
  } else if (result.best.value) {
    print_promotion(
        context.out, *version, *study, fetch, arguments_of_with(store, *study, options),
        !open.definition.knobs.empty() ||
            std::ranges::any_of(open.definition.space.parameters(), is_own_knob, &Parameter::name));
  }
  return {};
}

/// Returns whether a text for a shell in `command` has $NAME or ${NAME}.
bool names_variable(const std::vector<std::string>& command, const std::string& name) {
  return std::ranges::any_of(command, [&](const std::string& word) {
    return word.find("$" + name) != std::string::npos ||
           word.find("${" + name) != std::string::npos;
  });
}

/// Says which placeholders of the command are none of the study's.
void note_other_braces(std::ostream& err, const OpenStudy& open) {
  const auto& parameters = open.definition.space.parameters();
  for (const std::string& name : placeholders_of(open.study.command)) {
    if (name == kTrialPlaceholder || name == kWorkerPlaceholder ||
        std::ranges::count(parameters, name, &Parameter::name) > 0) {
      continue;
    }
    err << "note: {" << name << "} is no parameter and stays as it is" << std::endl;
  }
}

/// Says what is tuned, and from which default.
void announce(std::ostream& err, const OpenStudy& open) {
  const Params defaults = open.definition.space.defaults();
  const DefaultSources& sources = open.definition.default_sources;
  const bool is_of_scheduler = std::ranges::all_of(
      sources, [](const auto& source) { return source.second.origin == DefaultOrigin::scheduler; });
  err << "study " << open.study.name;
  if (!is_of_scheduler) err << " from the default " << default_text(defaults, sources);
  err << ": " << plain_line(shell_text(open.study.command)) << std::endl;
  if (const auto text = assumption_text(defaults, sources); !text.empty()) err << text << std::endl;
  const auto names = placeholders_of(open.study.command);
  for (const Parameter& parameter : open.definition.space.parameters()) {
    if (is_knob(parameter.name) || is_own_knob(parameter.name) ||
        open.definition.knobs.contains(parameter.name) ||
        std::ranges::count(names, parameter.name) > 0 ||
        names_variable(open.study.command, parameter.name)) {
      continue;
    }
    err << "note: the command has no {" << parameter.name << "}; it gets the value as the "
        << "environment variable " << parameter.name << " alone" << std::endl;
  }
  note_other_braces(err, open);
  if (const auto& step = open.definition.step; step && !step->prediction_withheld.empty()) {
    err << "note: the search does without the step, of which no other configuration is predicted: "
        << plain_line(step->prediction_withheld) << std::endl;
  }
  for (const auto& note :
       boolean_notes(open.study.command, open.definition.space, open.definition.knobs))
    err << plain_line("note: " + note) << std::endl;
  for (const HiddenKnob& hidden : hidden_knobs(open.definition.space))
    err << "note: " << hidden.text << std::endl;
}

/// Returns the time for the whole study, if it has a limit.
Result<std::optional<std::int64_t>> max_time(const TuneOptions& options) {
  if (!options.max_time) return std::nullopt;
  const auto ns = parse_duration(*options.max_time);
  if (!ns) return failure(ns.error().in("--max-time"));
  return *ns;
}

/// Says what the options of a resumed study mean for what it has run already.
void note_resumed(std::ostream& err, const TuneOptions& options, const OpenStudy& open) {
  if (options.max_time)
    err << "note: --max-time counts from now, not from when the study began" << std::endl;
  if (!options.trials) return;
  const auto searched = std::ranges::count(open.history, TrialPhase::search, &Trial::phase);
  const bool confirms = searched < std::ssize(open.history);
  if (confirms && *options.trials > searched) {
    err << "note: its confirmation has begun, so no more settings are searched; hocket tune --from "
        << open.study.name << store_argument(options.store)
        << " starts another study from what it measured" << std::endl;
  } else if (*options.trials <= searched) {
    err << "note: " << searched << (searched == 1 ? " trial has" : " trials have")
        << " been run, so the search ends here" << std::endl;
  }
}

Result<int> tune(const TuneOptions& options, VerbContext& context) {
  const HarmlessSignal unread_pipe(SIGPIPE);
  if (options.slurm) {
    const auto words = slurm_options(*options.slurm);
    if (!words) return failure(words.error().in("--slurm"));
  }
  const auto max_time_ns = max_time(options);
  HOCKET_TRY(max_time_ns);
  std::unique_ptr<Store> store;
  const auto open = open_study(options, context, store);
  HOCKET_TRY(open);
  announce(context.err, *open);
  if (!open->definition.stopped.empty())
    context.err << plain_line("its search has stopped: " + open->definition.stopped) << std::endl;
  if (options.resume) note_resumed(context.err, options, *open);
  // A batch script of Slurm, say, is rank 0 of its job; the command is a job of its own.
  forget_rank();
  const auto place = store_path(options.store);
  HOCKET_TRY(place);
  StudyRunOptions run{.max_time_ns = *max_time_ns,
                      .store_argument = store_argument(options.store),
                      .is_on_server = is_postgres_uri(*place)};
  if (!open->definition.slurm.empty()) {
    auto submission = slurm_workers(*open, options.store, context.err);
    HOCKET_TRY(submission);
    run.slurm = std::move(*submission);
  }
  const auto result = run_open_study(*store, *open, run, context);
  HOCKET_TRY(result);
  HOCKET_TRY(show(options, context, *store, *open, *result));
  if (!result->best.value && !result->is_interim) {
    return failure(ErrorCode::invalid_argument, result->reason + advice(options, *open, *result));
  }
  return result->promoted ? kDone : kDefaultStays;
}

/// Returns an error that names the first option incompatible with --resume.
Result<void> check_resume(bool resume, const std::vector<CLI::Option*>& defining) {
  for (const auto* option : defining) {
    if (!resume || option->count() == 0) continue;
    return failure(ErrorCode::invalid_argument,
                   option->get_name() +
                       " does not go with --resume: the stored study says what to run; leave it "
                       "out, or start a new study without --resume");
  }
  return {};
}

}  // namespace

void add_tune(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<TuneOptions>();
  auto* verb = program.add_subcommand("tune", "run a command under many settings, keep the best");
  const auto defining = add_tune_options(*verb, *options);
  verb->footer(kTuneFooter);
  verb->callback([options, defining, &action] {
    const auto allowed = check_resume(options->resume, defining);
    action = [options, allowed](VerbContext& c) -> Result<int> {
      HOCKET_TRY(allowed);
      return tune(*options, c);
    };
  });
}

}  // namespace hocket
