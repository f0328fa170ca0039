// hocket tune: runs a command under many settings and promotes the best.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/promotions/promoted_setting.h"
#include "archive/promotions/promotion_choice.h"
#include "archive/studies/donor_source.h"
#include "archive/studies/open_study.h"
#include "archive/studies/plain_job.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_result.h"
#include "cli/base/command_line.h"
#include "cli/inputs/access/store_access.h"
#include "cli/inputs/space/tuned_space.h"
#include "cli/inputs/step/step_source.h"
#include "cli/process/own_job.h"
#include "cli/study/slurm_workers.h"
#include "cli/study/study_run.h"
#include "cli/verbs/verb.h"
#include "cli/views/front_view.h"
#include "cli/views/output_view.h"
#include "cli/views/result_view.h"
#include "cli/views/version_view.h"
#include "client/link/environment.h"
#include "core/base/text.h"
#include "core/host/rank_environment.h"
#include "core/host/topology_probe.h"
#include "store/store_uri.h"
#include "tuner/slurm/slurm_options.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

/// Lines of each stream that are shown when the default fails.
constexpr std::size_t kLastLines = 10;

struct TuneOptions {
  std::vector<std::string> params, defaults, constraints, limits;
  std::vector<std::string> objectives = {"auto"};
  std::string timeout = "10m";
  std::int64_t trials = 15, confirm = 5, skip = 0, seed = 1;
  std::string study, workload, store;
  std::string step, method = "model", transfer;
  bool maximize = false, default_from_env = false, all_trials = false, full_trials = false,
       no_transfer = false;
  std::optional<std::int64_t> workers;
  std::optional<std::string> slurm;
  bool resume = false, take_over = false, keep_going = false, json = false;
};

constexpr const char* kTuneFooter =
    "hocket tune [options] -- COMMAND…\n"
    "Runs COMMAND once for each trial. Parameters reach it as environment variables and as {NAME}\n"
    "in its arguments; the scheduler's knobs, which are tuned when no --param is given, also as\n"
    "HOCKET_CONFIG. Ends with 0 when the winner was promoted and 3 when the default stays.\n"
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
    "  hocket tune --limit 'memory<=4G' -- ./job\n"
    "  hocket tune --objective report --objective memory -- ./job\n"
    "  hocket tune --workers 4 --param B=int:1..64 -- ./job {B}\n"
    "  hocket tune --slurm '--nodes 4 --time 10:00' --workers 3 -- srun ./train\n"
    "  hocket tune --resume\n";

/// Returns the objectives' texts; --maximize puts max: in front of the only one.
Result<std::vector<std::string>> directed(const TuneOptions& options) {
  auto texts = options.objectives;
  if (!options.maximize) return texts;
  if (texts.size() > 1)
    return invalid("--maximize: which of several objectives? write max: in front of it");
  if (!texts.front().starts_with("max:")) texts.front().insert(0, "max:");
  return texts;
}

Result<StudyDefinition> make_definition(const TuneOptions& options,
                                        const std::vector<std::string>& command) {
  auto tuned =
      tuned_space({.params = options.params,
                   .defaults = options.defaults,
                   .constraints = options.constraints,
                   .command = command,
                   .environment = options.default_from_env ? process_environment : Environment(),
                   .has_servers = has_servers(command, process_environment(kServersVariable))},
                  SteadyClock());
  HOCKET_TRY(tuned);
  const auto texts = directed(options);
  HOCKET_TRY(texts);
  const auto objectives = parse_objectives(*texts);
  HOCKET_TRY(objectives);
  const auto time_limit_ns = parse_duration(options.timeout);
  if (!time_limit_ns) return failure(time_limit_ns.error().in("--timeout"));
  std::error_code error;
  const auto directory = std::filesystem::current_path(error);
  if (error) {
    return failure(ErrorCode::unavailable,
                   "the working directory cannot be read: " + error.message());
  }
  const auto method = parse_search_method(options.method);
  if (!method) return failure(method.error().in("--method"));
  StudyDefinition definition{.space = std::move(tuned->space),
                             .objective = objectives->front(),
                             .other_objectives = {objectives->begin() + 1, objectives->end()},
                             .skip = options.skip,
                             .method = *method,
                             .seed = options.seed,
                             .trials = options.trials,
                             .confirm_pairs = options.confirm,
                             .time_limit_ns = *time_limit_ns,
                             .working_directory = directory.string(),
                             .default_sources = std::move(tuned->sources),
                             .stop_early = !options.all_trials,
                             .end_trials_early = !options.full_trials,
                             .needs_default = !options.keep_going,
                             .workers = options.workers,
                             .slurm = options.slurm.value_or("")};
  if (!definition.slurm.empty()) definition.workers = options.workers.value_or(1);
  for (const auto& text : options.limits) {
    auto limit = parse_limit(text);
    HOCKET_TRY(limit);
    definition.limits.push_back(std::move(*limit));
  }
  if (!options.step.empty()) {
    auto step = read_step(options.step);
    if (!step) return failure(step.error().in("--step"));
    definition.step = std::move(*step);
  }
  if (*method == SearchMethod::model && objectives->size() == 1 && !options.no_transfer) {
    definition.transfer = options.transfer;
  } else if (!options.transfer.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "--transfer: only the method model with one objective starts from another "
                   "study");
  }
  HOCKET_TRY(validate(definition));
  return definition;
}

/// A new study, or the one to resume, checked before anything is written.
Result<OpenStudy> open_study(const TuneOptions& options, const Context& context,
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
                                 .slurm = options.slurm});
  }
  auto command = required_command(context.command, "tune");
  HOCKET_TRY(command);
  auto definition = make_definition(options, *command);
  HOCKET_TRY(definition);
  const auto topology = probe_topology();
  HOCKET_TRY(topology);
  HOCKET_TRY(open());
  if (!options.transfer.empty()) {
    // The job is not known yet, but it can already be checked that a study can start from the
    // study.
    const auto donor = named_donor(*store, options.transfer, *definition, {});
    if (!donor) return failure(as_bad_input(donor.error().in("--transfer")));
  }
  auto workload =
      plain_workload(*command, definition->working_directory, definition->space, options.workload);
  return start_study(*store, {.definition = std::move(*definition),
                              .command = std::move(*command),
                              .name = options.study,
                              .workload = std::move(workload),
                              .topology = *topology});
}

/// Returns " --store STORE" if the option was given, without a password.
std::string store_argument(const TuneOptions& options) {
  return options.store.empty() ? "" : " --store " + shell_quoted(shown_store(options.store));
}

/// Returns the command line that fetches the promoted configuration.
Result<std::string> fetch_line(Store& store, const StudyRow& study, const TuneOptions& options) {
  const auto host = probe_topology();
  HOCKET_TRY(host);
  const auto promotions = current_promotions(store);
  HOCKET_TRY(promotions);
  for (const auto& promoted : *promotions) {
    if (promoted.promotion.study_id != study.id) continue;
    return "hocket fetch " + shell_text(fetch_arguments(*promotions, promoted, *host)) +
           store_argument(options);
  }
  return failure(ErrorCode::not_found, "the promotion of study " + study.name +
                                           " was replaced by another at the same moment");
}

/// Returns how to go on after a study in which nothing completed.
std::string advice(const TuneOptions& options, const OpenStudy& open, const StudyResult& result) {
  const std::string correct = "; correct the command, its parameters, the objective or the limits";
  if (result.trials.size() > 1 || !open.definition.needs_default) return correct;
  return correct + " and start again, or search for a setting that works: hocket tune --resume " +
         "--study " + open.study.name + store_argument(options) + " --keep-going";
}

/// Shows the end of what the first trial printed, which says most about why it failed.
Result<void> show_failed_default(const TuneOptions& options, Context& context, Store& store,
                                 const StudyRow& study, const TrialRow& first) {
  const auto output = store.trial_output(first.id);
  HOCKET_TRY(output);
  if (!*output) {
    context.err << "the default printed nothing" << std::endl;
    return {};
  }
  context.err << "the last lines of the default's output (all that is kept: hocket trials "
              << study.name << store_argument(options) << " --log " << first.number << "):\n";
  print_output_end(context.err, **output, kLastLines);
  return {};
}

Result<void> show(const TuneOptions& options, Context& context, Store& store, std::int64_t study_id,
                  const StudyResult& result) {
  const auto study = store.study(std::to_string(study_id));
  HOCKET_TRY(study);
  const auto view = study_view(store, *study);
  HOCKET_TRY(view);
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
  if (!result.best.value) {
    HOCKET_TRY(show_failed_default(options, context, store, *study, trials->front()));
  }
  if (options.json) {
    auto document = to_json(*view);
    document.update(to_json(result));
    document["trials"] = trials_json(*trials);
    document["fetch"] = fetch.empty() ? nlohmann::json() : nlohmann::json(fetch);
    context.out << json_text(document) << '\n';
    return {};
  }
  print_heading(context.out, *view);
  print_trials(context.out, *trials, *view);
  if (!result.best.value) return {};
  context.out << '\n';
  if (result.front.empty()) {
    print_result(context.out, result, *view);
  } else {
    print_front(context.out, result, *view, study->command);
  }
  if (is_held) context.out << standing_text(**version, study->name) << '\n';
  if (!fetch.empty()) {
    context.out << "fetch it with: " << fetch << '\n';
    if (!placeholders_of(study->command).empty())
      context.out << "run with it: hocket with -- " << shell_text(study->command) << '\n';
  }
  return {};
}

/// Says what is tuned, and from which default.
void announce(std::ostream& err, const OpenStudy& open) {
  const Params defaults = open.definition.space.defaults();
  const DefaultSources& sources = open.definition.default_sources;
  const bool is_of_scheduler = std::ranges::all_of(
      sources, [](const auto& source) { return source.second.origin == DefaultOrigin::scheduler; });
  err << "study " << open.study.name;
  if (!is_of_scheduler) err << " from the default " << default_text(defaults, sources);
  err << ": " << shell_text(open.study.command) << std::endl;
  if (const auto text = assumption_text(defaults, sources); !text.empty()) err << text << std::endl;
  const auto names = placeholders_of(open.study.command);
  for (const Parameter& parameter : open.definition.space.parameters()) {
    if (is_knob(parameter.name) || std::ranges::count(names, parameter.name) > 0) continue;
    err << "note: the command has no {" << parameter.name << "}; it gets the value as the "
        << "environment variable " << parameter.name << " alone" << std::endl;
  }
  for (const HiddenKnob& hidden : hidden_knobs(open.definition.space))
    err << "note: " << hidden.text << std::endl;
}

Result<int> tune(const TuneOptions& options, Context& context) {
  if (options.slurm) {
    const auto words = slurm_options(*options.slurm);
    if (!words) return failure(words.error().in("--slurm"));
  }
  std::unique_ptr<Store> store;
  const auto open = open_study(options, context, store);
  HOCKET_TRY(open);
  announce(context.err, *open);
  if (!open->definition.stopped.empty())
    context.err << "its search has stopped: " << open->definition.stopped << std::endl;
  // A batch script of Slurm, say, is rank 0 of its job; the command is a job of its own.
  forget_rank();
  StudyRunOptions run{.store_argument = store_argument(options)};
  if (!open->definition.slurm.empty()) {
    auto submission = slurm_workers(*open, options.store, context.err);
    HOCKET_TRY(submission);
    run.slurm = std::move(*submission);
  }
  const auto result = run_open_study(*store, *open, run, context);
  HOCKET_TRY(result);
  HOCKET_TRY(show(options, context, *store, open->study.id, *result));
  if (!result->best.value) {
    return failure(ErrorCode::invalid_argument, result->reason + advice(options, *open, *result));
  }
  return result->promoted ? kDone : kDefaultStays;
}

/// Declares the options. Returns those that define a study, which --resume takes from the store.
std::vector<CLI::Option*> add_options(CLI::App& verb, TuneOptions& options) {
  auto* transfer =
      verb.add_option("--transfer", options.transfer,
                      "the earlier study to start from (default: the nearest, if one is near)");
  auto* no_transfer =
      verb.add_flag("--no-transfer", options.no_transfer, "start from no earlier study")
          ->excludes(transfer);
  std::vector<CLI::Option*> defining = {
      verb.add_option("--param", options.params,
                      "NAME=int:LO..HI[:log], NAME=float:LO..HI[:log], NAME=levels:1,2,4 or "
                      "NAME=choice:A,B,C, or the NAME of a knob, such as primitive or "
                      "regions.backward_layer1.bucket_bytes; repeat it (default: those knobs of "
                      "the scheduler that do not partition steps, and communication for a "
                      "job with parameter servers)")
          ->allow_extra_args(false),
      verb.add_option(
              "--default", options.defaults,
              "NAME=VALUE, the default of a parameter (default: what the argument parser of "
              "a Python script says of the option in front of {NAME}, else assumed: the "
              "middle of the range)")
          ->allow_extra_args(false),
      verb.add_flag("--default-from-env", options.default_from_env,
                    "take the defaults of parameters from the environment variables of their "
                    "names, where these are set"),
      verb.add_option("--require", options.constraints,
                      "what a setting must satisfy to be tried: A>=B, A*B*4096<=8G, C!=word; "
                      "repeat it")
          ->allow_extra_args(false),
      verb.add_option("--trials", options.trials, "settings to try, the default included")
          ->capture_default_str(),
      verb.add_flag("--all-trials", options.all_trials,
                    "do not stop before, when little is left to gain"),
      verb.add_flag("--full-trials", options.full_trials,
                    "do not end a trial before, when it is slower than the best"),
      verb.add_option("--step", options.step,
                      "what a profile says of the default's step (hocket simulate), to start from")
          ->type_name("FILE"),
      verb.add_option("--confirm", options.confirm,
                      "pairs of runs, at most, that confirm the winner; it takes 2 or more")
          ->capture_default_str(),
      verb.add_option("--timeout", options.timeout, "limit of one trial: 90, 30s, 5m")
          ->capture_default_str(),
      verb.add_option("--objective", options.objectives,
                      "what to minimise: auto (the job's report, else wall), wall, memory, "
                      "report, regex:PATTERN (RE2's syntax; the number is its first group) or "
                      "file:PATH; max: in front maximises a regex or a file, NAME= or NAME[UNIT]= "
                      "names it: max:speed[tokens/s]=regex:PATTERN; up to three times, for the "
                      "settings that none beats in all of them (then nothing is promoted)")
          ->allow_extra_args(false)
          ->capture_default_str(),
      verb.add_flag("--maximize", options.maximize, "maximise the objective, as max: does"),
      verb.add_option(
              "--limit", options.limits,
              "OBJECTIVE<=NUMBER or OBJECTIVE>=NUMBER, what a trial must stay within or has "
              "failed: memory<=4G, wall<=60s, loss=regex:PATTERN<=3.5; repeat it")
          ->allow_extra_args(false),
      verb.add_option("--skip", options.skip, "matches of a regex to drop as warm-up")
          ->capture_default_str(),
      verb.add_option("--method", options.method,
                      "how to search: model, random, sobol, tpe or grid (a full one, given as many "
                      "trials)")
          ->type_name("model|random|sobol|tpe|grid")
          ->capture_default_str(),
      transfer,
      no_transfer,
      verb.add_option("--seed", options.seed, "seed of the search")->capture_default_str(),
      verb.add_option(
          "--workload", options.workload,
          "a name for what the command runs, when it writes no report (default: the path of "
          "its script or program)")};
  verb.add_option("--study", options.study, "name of the study");
  verb.add_option("--store", options.store,
                  "the store: a file, or a URI of PostgreSQL (default: $HOCKET_STORE, else "
                  "$XDG_STATE_HOME/hocket/hocket.db)");
  auto* resume = verb.add_flag("--resume", options.resume,
                               "go on with --study, else with the latest unfinished one; in a "
                               "database of several hosts, the latest of this host");
  verb.add_flag("--take-over", options.take_over,
                "with --resume: the study's owner on another host has ended")
      ->needs(resume);
  verb.add_option("--workers", options.workers,
                  "run so many trials at a time on this host, and let `hocket work` run further "
                  "ones elsewhere; 0: only there; also with --resume")
      ->check(CLI::Range(std::int64_t{0}, kMostWorkers));
  verb.add_option("--slurm", options.slurm,
                  "run the workers as tasks of a job array of Slurm, each in an allocation of its "
                  "own, with these options of sbatch: '--nodes 4 --time 10:00' (default: one "
                  "worker); also with --resume, where '' runs them on this host again")
      ->type_name("OPTIONS");
  verb.add_flag("--keep-going", options.keep_going,
                "search on when the default fails, for a setting that works; also with --resume");
  verb.add_flag("--json", options.json, "print the result as JSON");
  return defining;
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

void add_tune(CLI::App& program, Action& action) {
  auto options = std::make_shared<TuneOptions>();
  auto* verb = program.add_subcommand("tune", "run a command under many settings, keep the best");
  const auto defining = add_options(*verb, *options);
  verb->footer(kTuneFooter);
  verb->callback([options, defining, &action] {
    const auto allowed = check_resume(options->resume, defining);
    action = [options, allowed](Context& c) -> Result<int> {
      HOCKET_TRY(allowed);
      return tune(*options, c);
    };
  });
}

}  // namespace hocket
