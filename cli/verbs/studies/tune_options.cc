#include "cli/verbs/studies/tune_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "archive/studies/command_files.h"
#include "archive/studies/study_job.h"
#include "cli/inputs/knobs/knob_catalog.h"
#include "cli/inputs/promotion/found_setting.h"
#include "cli/inputs/space/tuned_space.h"
#include "cli/inputs/step/step_source.h"
#include "cli/output/value_text.h"
#include "client/link/environment.h"
#include "core/base/clock.h"
#include "core/description/step_programs.h"
#include "core/host/rank_environment.h"
#include "tuner/search/search.h"
#include "tuner/trial/call/knob_call.h"
#include "tuner/trial/command_call.h"
#include "tuner/trial/limit.h"
#include "tuner/trial/placeholder.h"

namespace hocket {
namespace {

/// Returns the selected knobs.
Result<std::vector<KnobFile>> knobs_of(const std::vector<std::string>& texts) {
  std::vector<KnobFile> files;
  const std::string folder = own_knobs_folder(process_environment);
  for (const std::string& text : texts) {
    const auto selection = parse_knob_selection(text);
    HOCKET_TRY(selection);
    auto known = find_knobs(*selection, folder);
    if (!known) return failure(as_bad_input(known.error()));
    auto selected = selected_knobs(std::move(known->file), *selection);
    HOCKET_TRY(selected);
    files.push_back(std::move(*selected));
  }
  return files;
}

/// Declares the parameters, and what a setting of them must satisfy.
void add_space_options(CLI::App& verb, TuneOptions& options, std::vector<CLI::Option*>& defining) {
  defining.push_back(
      verb.add_option(
              "--param", options.params,
              "NAME=int:LO..HI[:log], NAME=float:LO..HI[:log], NAME=levels:1,2,4, "
              "NAME=choice:A,B,C, NAME=A,B,C (levels if all are numbers) or NAME=bool (0 "
              "and 1; {NAME?--x:--no-x} is a flag), or the NAME of a knob, such as primitive or "
              "regions.backward_block1.bucket_bytes; repeat it (default: those knobs of "
              "the scheduler that do not partition steps, and communication for a "
              "job with parameter servers). The choice unset leaves the variable and "
              "the option with {NAME} out; \\unset is the word")
          ->allow_extra_args(false));
  defining.push_back(
      verb.add_option(
              "--knobs", options.knobs,
              "search the declared knobs of a tool beside any --param: TOOL[:SET][@VERSION], as "
              "in nccl, nccl:net or xla@0.6.2, or a file of your own, ./mine.json (hocket knobs "
              "list). With a version those that it has; without one all of a tool that ignores "
              "what it does not know, and those that the newest version has of one that fails; "
              "repeat it")
          ->type_name("KNOBS")
          ->allow_extra_args(false));
  defining.push_back(
      verb.add_option(
              "--default", options.defaults,
              "NAME=VALUE, the default of a parameter (default: what the argument parser of "
              "a Python script says of the option in front of {NAME}, else assumed: the "
              "middle of the range)")
          ->allow_extra_args(false));
  defining.push_back(
      verb.add_flag("--default-from-env", options.default_from_env,
                    "take the defaults of parameters from the environment variables of their "
                    "names, where these are set"));
  defining.push_back(
      verb.add_option("--require", options.constraints,
                      "what a setting must satisfy to be tried: CONDITION [if CONDITION], as in "
                      "A>=B, A*B*4096<=8G, C!=word, A<=16 and B<4 if C==word; conditions compare "
                      "sums of parameters and numbers by <=, <, >=, >, ==, !=, or a choice and a "
                      "word by ==, !=, and are joined by and, or, not; repeat it")
          ->allow_extra_args(false));
}

/// Declares that a variable by which programs find others may be searched.
void add_variable_option(CLI::App& verb, TuneOptions& options,
                         std::vector<CLI::Option*>& defining) {
  defining.push_back(
      verb.add_option("--allow-variable", options.allowed_variables,
                      "search this variable although programs find others by it, as by PATH, "
                      "LD_PRELOAD or CUDA_VISIBLE_DEVICES; repeat it (default: ask on the "
                      "terminal, refuse without one)")
          ->type_name("NAME")
          ->allow_extra_args(false));
}

/// Declares how many trials there are, and for how long each may run.
void add_trial_options(CLI::App& verb, TuneOptions& options, std::vector<CLI::Option*>& defining) {
  defining.push_back(verb.add_flag("--all-trials", options.all_trials,
                                   "do not stop before, when little is left to gain"));
  defining.push_back(verb.add_flag("--full-trials", options.full_trials,
                                   "do not end a trial before, when it is slower than the best"));
  defining.push_back(verb.add_flag(
      "--allow-fewer", options.allow_fewer,
      "count a trial with fewer than half of the default's measurements, which otherwise has "
      "failed: a larger batch may need fewer steps"));
  defining.push_back(
      verb.add_option("--step", options.step,
                      "what a profile says of the default's step (hocket simulate), to start from")
          ->type_name("FILE"));
  defining.push_back(
      verb.add_option("--confirm", options.confirm,
                      "pairs of runs, at most, that confirm the winner; it takes 2 or more")
          ->capture_default_str());
  defining.push_back(
      verb.add_option("--timeout", options.timeout, "limit of one trial: 90, 30s, 5m")
          ->capture_default_str());
}

/// Declares what ends a job that outlives its trial.
void add_stop_options(CLI::App& verb, TuneOptions& options, std::vector<CLI::Option*>& defining) {
  defining.push_back(
      verb.add_option("--stop-command", options.stop_command,
                      "for sh, run at the end of each trial, however it ended, with the trial's "
                      "environment and {NAME}s: ends a job that outlives its command, as one of "
                      "docker exec, ssh or kubectl exec does")
          ->type_name("COMMAND"));
  defining.push_back(verb.add_option("--stop-timeout", options.stop_timeout,
                                     "limit of one run of the stop command: 30s, 2m")
                         ->capture_default_str());
}

/// Declares what is measured of a trial, and the limits within which it must stay.
void add_objective_options(CLI::App& verb, TuneOptions& options,
                           std::vector<CLI::Option*>& defining) {
  defining.push_back(
      verb.add_option(
              "--objective", options.objectives,
              "what to minimise: auto (the job's report, else wall), wall, memory, "
              "report, regex:PATTERN (RE2's syntax; the number is its first group, and "
              "counts whole: 10,753, 4e+01, 1.2k) or file:PATH ({TRIAL}, {WORKER} and "
              "parameters are filled in); max: in front maximises a regex or a file, NAME= "
              "or NAME[UNIT]= "
              "names it: max:speed[tokens/s]=regex:PATTERN; up to three times, for the "
              "settings that none beats in all of them (then nothing is promoted) (default: "
              "auto; with --knobs torch the iterations that `hocket torch` prints)")
          ->allow_extra_args(false));
  defining.push_back(
      verb.add_flag("--maximize", options.maximize, "maximise the objective, as max: does"));
  defining.push_back(
      verb.add_option(
              "--limit", options.limits,
              "OBJECTIVE<=NUMBER or OBJECTIVE>=NUMBER, what a trial must stay within or has "
              "failed: memory<=4G, wall<=60s, loss=regex:PATTERN<=3.5; or never:PATTERN, what it "
              "must not print: 'never:out of memory'; repeat it")
          ->allow_extra_args(false));
  defining.push_back(
      verb.add_option("--skip", options.skip,
                      "first matches of a regex to drop as warm-up (default: the warm-up that each "
                      "run shows: its first iterations, up to half of them, that are clearly "
                      "slower than the rest)"));
}

/// Declares how a study is named, resumed and run, which does not change what it searches.
void add_run_options(CLI::App& verb, TuneOptions& options) {
  verb.add_option("--study", options.study, "name of the study");
  verb.add_option("--store", options.store,
                  "the store: a file, or a URI of PostgreSQL (default: $HOCKET_STORE, else "
                  "$XDG_STATE_HOME/hocket/hocket.db)");
  verb.add_option("--max-time", options.max_time,
                  "time for the whole study, its confirmation included: 90s, 3m, 1.5h; whichever "
                  "is first, this or --trials, ends the search; with --resume it begins anew");
  verb.add_option("--trials", options.trials,
                  "settings to try, the default included (default: 15); with --resume the study's "
                  "new number: as many as were tried go straight to the confirmation");
  auto* resume = verb.add_flag("--resume", options.resume,
                               "go on with --study, else with the latest unfinished one; in a "
                               "database of several hosts, the latest of this host");
  verb.add_flag("--take-over", options.take_over,
                "with --resume: the study's owner on another host has ended")
      ->needs(resume);
  verb.add_flag("--accept-changes", options.accept_changes,
                "with --resume: go on although a file among the command's words has changed, so "
                "that values of before and after mix")
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
}

/// Returns the objectives' texts, `own` where none is given; --maximize puts max: in front of the
/// only one.
Result<std::vector<std::string>> directed(const TuneOptions& options, const std::string& own) {
  auto texts = options.objectives;
  // An iteration cannot be maximised, so --maximize alone is refused as ever.
  const bool has_own = !own.empty() && !options.maximize;
  if (texts.empty()) texts.emplace_back(has_own ? own : "auto");
  if (!options.maximize) return texts;
  if (texts.size() > 1)
    return invalid("--maximize: which of several objectives? write max: in front of it");
  if (!texts.front().starts_with("max:")) texts.front().insert(0, "max:");
  return texts;
}

/// Returns the space that is searched, with the defaults of its parameters.
Result<TunedSpace> space_of(const TuneOptions& options, const std::vector<std::string>& command) {
  auto knobs = knobs_of(options.knobs);
  HOCKET_TRY(knobs);
  return tuned_space({.params = options.params,
                      .knobs = std::move(*knobs),
                      .defaults = options.defaults,
                      .constraints = options.constraints,
                      .command = command,
                      .environment = options.default_from_env ? process_environment : Environment(),
                      .has_servers = has_servers(command, process_environment(kServersVariable)),
                      .surroundings = surroundings_of("", "")},
                     SteadyClock());
}

/// Refuses misspelt placeholders in the command and in the paths of files.
Result<void> check_names(const StudyDefinition& definition,
                         const std::vector<std::string>& command) {
  std::vector<std::string> known = {kTrialPlaceholder, kWorkerPlaceholder};
  for (const Parameter& parameter : definition.space.parameters()) known.push_back(parameter.name);
  std::vector<std::string> words = command;
  words.push_back(definition.stop_command);
  for (const Objective& objective : objectives_of(definition)) {
    if (objective.kind == ObjectiveKind::file) words.push_back(objective.argument);
  }
  for (const MetricLimit& limit : definition.limits) {
    if (limit.objective.kind == ObjectiveKind::file) words.push_back(limit.objective.argument);
  }
  return check_placeholders(words, known);
}

/// Adds the limits, the step to start from and the study to transfer from.
Result<void> add_knowledge(const TuneOptions& options, StudyDefinition& definition) {
  for (const auto& text : options.limits) {
    auto limit = parse_limit(text);
    HOCKET_TRY(limit);
    definition.limits.push_back(std::move(*limit));
  }
  if (!options.step.empty()) {
    auto step = read_step(options.step);
    if (!step) return failure(step.error().in("--step"));
    if (const auto ok = check_same_on_all_ranks(*step, "a search"); !ok)
      return failure(ok.error().in("--step"));
    definition.step = std::move(*step);
  }
  const bool can_transfer =
      definition.method == SearchMethod::model && definition.other_objectives.empty();
  if (can_transfer && !options.no_transfer) {
    definition.transfer = options.from.empty() ? options.transfer : options.from;
    definition.goes_on = !options.from.empty();
  } else if (!options.transfer.empty() || !options.from.empty()) {
    return failure(ErrorCode::invalid_argument,
                   std::string(options.from.empty() ? "--transfer" : "--from") +
                       ": only the method model with one objective starts from another "
                       "study");
  }
  return {};
}

}  // namespace

std::vector<CLI::Option*> add_tune_options(CLI::App& verb, TuneOptions& options) {
  auto* transfer =
      verb.add_option("--transfer", options.transfer,
                      "the earlier study to start from (default: the nearest, if one is near)");
  auto* no_transfer =
      verb.add_flag("--no-transfer", options.no_transfer, "start from no earlier study")
          ->excludes(transfer);
  auto* from = verb.add_option(
      "--from", options.from,
      "start from what this study measured, which may have been interrupted: with the same command "
      "and unchanged scripts its values are the search's prior, else its best settings are tried "
      "first");
  from->excludes(transfer)->excludes(no_transfer);
  std::vector<CLI::Option*> defining{from};
  add_space_options(verb, options, defining);
  add_variable_option(verb, options, defining);
  add_trial_options(verb, options, defining);
  add_stop_options(verb, options, defining);
  add_objective_options(verb, options, defining);
  defining.push_back(
      verb.add_option("--method", options.method,
                      "how to search: model, random, sobol, tpe or grid (a full one, given as many "
                      "trials)")
          ->type_name("model|random|sobol|tpe|grid")
          ->capture_default_str());
  defining.push_back(transfer);
  defining.push_back(no_transfer);
  defining.push_back(
      verb.add_option("--seed", options.seed, "seed of the search")->capture_default_str());
  defining.push_back(verb.add_option(
      "--workload", options.workload,
      "a name for what the command runs, when it writes no report (default: the path of "
      "its script or program)"));
  add_run_options(verb, options);
  return defining;
}

Result<StudyDefinition> study_definition(const TuneOptions& options,
                                         const std::vector<std::string>& command,
                                         std::vector<std::string>* notes) {
  auto tuned = space_of(options, command);
  HOCKET_TRY(tuned);
  if (notes != nullptr) *notes = tuned->notes;
  const auto texts = directed(options, tuned->objective);
  HOCKET_TRY(texts);
  const auto objectives = parse_objectives(*texts);
  HOCKET_TRY(objectives);
  const auto time_limit_ns = parse_duration(options.timeout);
  if (!time_limit_ns) return failure(time_limit_ns.error().in("--timeout"));
  const auto stop_limit_ns = parse_duration(options.stop_timeout);
  if (!stop_limit_ns) return failure(stop_limit_ns.error().in("--stop-timeout"));
  auto started = started_here(command);
  HOCKET_TRY(started);
  const auto method = parse_search_method(options.method);
  if (!method) return failure(method.error().in("--method"));
  StudyDefinition definition{.space = std::move(tuned->space),
                             .objective = objectives->front(),
                             .other_objectives = {objectives->begin() + 1, objectives->end()},
                             .skip = options.skip.value_or(0),
                             .finds_warm_up = !options.skip,
                             .method = *method,
                             .seed = options.seed,
                             .trials = options.trials.value_or(StudyDefinition::kTrials),
                             .confirm_pairs = options.confirm,
                             .time_limit_ns = *time_limit_ns,
                             .working_directory = std::move(started->folder),
                             .stop_command = options.stop_command,
                             .stop_limit_ns = *stop_limit_ns,
                             .default_sources = std::move(tuned->sources),
                             .knobs = std::move(tuned->knobs),
                             .stop_early = !options.all_trials,
                             .end_trials_early = !options.full_trials,
                             .allows_fewer = options.allow_fewer,
                             .needs_default = !options.keep_going,
                             .compares_measured = true,
                             .workers = options.workers,
                             .slurm = options.slurm.value_or("")};
  if (!definition.slurm.empty()) definition.workers = options.workers.value_or(1);
  HOCKET_TRY(add_knowledge(options, definition));
  HOCKET_TRY(validate(definition));
  HOCKET_TRY(check_files(definition));
  HOCKET_TRY(check_names(definition, command));
  definition.files = files_of_study(definition, command);
  HOCKET_TRY(check_unset(command, definition.space));
  if (const auto ok = check_unset({definition.stop_command}, definition.space); !ok)
    return failure(ok.error().in("--stop-command"));
  return definition;
}

}  // namespace hocket
