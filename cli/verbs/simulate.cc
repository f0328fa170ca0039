// hocket simulate: predicts a step without running it.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "cli/inputs/command_line.h"
#include "cli/inputs/config_source.h"
#include "cli/inputs/knob_text.h"
#include "cli/inputs/measured_job.h"
#include "cli/inputs/simulation_record.h"
#include "cli/inputs/step_source.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "cli/views/profile_view.h"
#include "cli/views/simulation_view.h"
#include "core/base/json.h"
#include "core/sim/simulator.h"
#include "profiler/archive/export_profile.h"

namespace hocket {
namespace {

struct SimulateOptions {
  std::string step, config, profile, store, step_out;
  std::vector<std::string> set, sweep;
  StepChanges changes;
  std::int64_t iterations = 0, rank = 0;
  std::string trace, record;
  bool json = false;
};

constexpr std::int64_t kMaxIterations = 1'000'000;

constexpr const char* kSimulateFooter =
    "STEP is a step description in JSON (docs/formats/step.md); - reads standard input. --profile\n"
    "takes a measured job in its place, with its configuration and the links that it measured.\n"
    "Examples:\n"
    "  hocket simulate vgg16.json --set partition_bytes=4MiB --set order=static\n"
    "  hocket simulate vgg16.json --ranks 64 --ranks-per-host 8 \\\n"
    "      --link host=300gbit,5us --link network=25gbit,20us\n"
    "  hocket simulate vgg16.json --sweep partition_bytes=1MiB,4MiB --sweep order=fifo,static\n"
    "  hocket simulate vgg16.json --trace out.json       open it at https://ui.perfetto.dev\n"
    "  hocket simulate --profile gpt2-3 --set credit_bytes=8MiB\n"
    "  hocket simulate --profile gpt2-3 --ranks 8 --link network=10gbit,20us\n";

/// Applies --config and --set to `config`.
Result<ScheduleConfig> make_config(const SimulateOptions& options, ScheduleConfig config,
                                   std::ostream& err) {
  auto read = read_config(options.config, std::move(config), err);
  if (!read) return read;
  for (const auto& assignment : options.set) {
    if (auto ok = set_knob(*read, assignment); !ok) return failure(ok.error().in("--set"));
  }
  return read;
}

/// The step to simulate.
struct Subject {
  StepDescription step;
  ScheduleConfig config;                ///< before --config and --set
  std::optional<MeasuredJob> job = {};  ///< with --profile
};

/// Returns the description with the changes applied.
Result<Subject> subject_of_step(const SimulateOptions& options, std::ostream& err) {
  auto step = read_step(options.step);
  HOCKET_TRY(step);
  HOCKET_TRY(change_step(*step, options.changes));
  if (options.changes.ranks && !step->cluster) {
    err << "hocket: alpha and beta are kept as given; --link TIER=RATE,LATENCY costs collectives "
           "by the number of ranks"
        << std::endl;
  }
  return Subject{std::move(*step), {}};
}

Result<Subject> subject_of_profile(const SimulateOptions& options, std::ostream& err) {
  auto job = read_measured_job(options.store, options.profile);
  HOCKET_TRY(job);
  auto step = change_measured_step(job->profile.calibration, options.changes);
  if (!step) return failure(step.error().in("profile " + job->name));
  print_notes(err, job->profile.notes);
  err << "hocket: " << check_text(*job) << std::endl;
  const ScheduleConfig config = job->profile.config;
  return Subject{std::move(*step), config, std::move(*job)};
}

Result<Subject> make_subject(const SimulateOptions& options, std::ostream& err) {
  if (options.step.empty() == options.profile.empty()) {
    return invalid("simulate takes a step description or --profile PROFILE, one of the two");
  }
  return options.profile.empty() ? subject_of_step(options, err) : subject_of_profile(options, err);
}

Result<void> check(const SimulateOptions& options, const StepDescription& step) {
  if (options.iterations < 0 || options.iterations > kMaxIterations) {
    return invalid("--iterations: expected a number from 1 to " + std::to_string(kMaxIterations) +
                   " (0: until the period repeats), found " + std::to_string(options.iterations));
  }
  if (options.rank < 0 || options.rank >= step.ranks) {
    return invalid("--rank: expected a number from 0 to " + std::to_string(step.ranks - 1) +
                   ", found " + std::to_string(options.rank));
  }
  if (!options.sweep.empty() && !(options.trace.empty() && options.record.empty())) {
    return invalid("--trace and --record are of one configuration, --sweep has many");
  }
  return {};
}

SimulationOptions simulation_options(const ScheduleConfig& config, const SimulateOptions& options) {
  SimulationOptions simulation;
  simulation.config = config;
  simulation.iterations = options.iterations;
  return simulation;
}

/// Prints once why predictions from a measured job are unreliable, if they are.
void print_doubts(const Subject& subject, std::span<const ScheduleConfig> configs,
                  std::ostream& err) {
  if (!subject.job) return;
  std::vector<std::string> doubts;
  for (const ScheduleConfig& config : configs) {
    auto doubt = extrapolation(subject.job->profile.calibration, config);
    if (doubt && std::ranges::find(doubts, *doubt) == doubts.end()) doubts.push_back(*doubt);
  }
  print_notes(err, doubts);
}

Result<void> simulate_once(const SimulateOptions& options, const Subject& subject,
                           const ScheduleConfig& config, Context& context) {
  const StepDescription& step = subject.step;
  auto record = SimulationRecord::create(options.trace, options.record, step, config, options.rank);
  HOCKET_TRY(record);
  auto simulation_of = simulation_options(config, options);
  (*record)->attach(simulation_of);
  auto simulation = simulate(step, simulation_of);
  HOCKET_TRY(simulation);
  if (auto ok = (*record)->finish(); !ok) return ok;
  print_doubts(subject, std::span(&config, 1), context.err);
  const Prediction prediction{config, std::move(*simulation)};
  if (options.json) {
    auto document = prediction_json(step, prediction);
    if (subject.job) document["profile"] = job_json(*subject.job, config);
    context.out << json_text(document) << '\n';
  } else {
    print_prediction(context.out, step, prediction);
  }
  return {};
}

Result<SweepRow> sweep_row(const SimulateOptions& options, const StepDescription& step,
                           ScheduleConfig config, std::span<const KnobSweep> sweeps,
                           std::vector<std::string> values) {
  std::string text;
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const std::string assignment = sweeps[i].name + "=" + values[i];
    text += (text.empty() ? "" : " ") + assignment;
    if (auto ok = set_knob(config, assignment); !ok) return failure(ok.error().in("--sweep"));
  }
  auto simulation = simulate(step, simulation_options(config, options));
  if (!simulation) return failure(simulation.error().in(text));
  // It is large, and no row shows it.
  simulation->part_order = {};
  return SweepRow{std::move(values), {std::move(config), std::move(*simulation)}};
}

Result<void> simulate_sweep(const SimulateOptions& options, const Subject& subject,
                            const ScheduleConfig& config, Context& context) {
  const StepDescription& step = subject.step;
  std::vector<KnobSweep> sweeps;
  for (const auto& text : options.sweep) {
    auto sweep = parse_knob_sweep(text);
    if (!sweep) return failure(sweep.error().in("--sweep"));
    sweeps.push_back(std::move(*sweep));
  }
  const auto all = combinations(sweeps);
  if (!all) return failure(all.error().in("--sweep"));
  std::vector<SweepRow> rows;
  for (const auto& values : *all) {
    auto row = sweep_row(options, step, config, sweeps, values);
    HOCKET_TRY(row);
    rows.push_back(std::move(*row));
  }
  std::vector<ScheduleConfig> configs;
  for (const SweepRow& row : rows) configs.push_back(row.prediction.config);
  print_doubts(subject, configs, context.err);
  if (options.json) {
    auto document = sweep_json(step, rows);
    for (std::size_t i = 0; subject.job && i < rows.size(); ++i)
      document[i]["profile"] = job_json(*subject.job, configs[i]);
    context.out << json_text(document) << '\n';
  } else {
    print_sweep(context.out, sweeps, rows);
  }
  return {};
}

Result<int> simulate_verb(const SimulateOptions& options, Context& context) {
  HOCKET_TRY(no_command(context.command, "simulate"));
  const auto subject = make_subject(options, context.err);
  HOCKET_TRY(subject);
  const auto config = make_config(options, subject->config, context.err);
  HOCKET_TRY(config);
  HOCKET_TRY(check(options, subject->step));
  if (!options.step_out.empty()) {
    const std::string text = to_json(subject->step).dump(2) + "\n";
    HOCKET_TRY(write_whole_file(options.step_out, text));
  }
  const auto run = options.sweep.empty() ? simulate_once : simulate_sweep;
  HOCKET_TRY(run(options, *subject, *config, context));
  return kDone;
}

const std::map<std::string, CollectiveAlgorithm> kAlgorithms = {
    {"automatic", CollectiveAlgorithm::automatic},
    {"ring", CollectiveAlgorithm::ring},
    {"tree", CollectiveAlgorithm::tree}};

void add_step_options(CLI::App& verb, SimulateOptions& options) {
  verb.add_option("STEP", options.step, "the step description; - for standard input");
  verb.add_option("--profile", options.profile, "the step of this profile, by its name or number");
  verb.add_option("--store", options.store, "the store's file, which has the profile");
  verb.add_option("--ranks", options.changes.ranks, "how many ranks train");
  verb.add_option("--ranks-per-host", options.changes.ranks_per_host, "how many of them on a host");
  verb.add_option("--link", options.changes.links,
                  "host=RATE[,LATENCY] or network=RATE[,LATENCY], such as network=10gbit,20us; "
                  "repeat it")
      ->allow_extra_args(false);
  verb.add_option("--algorithm", options.changes.algorithm, "of an all-reduce over links")
      ->transform(CLI::CheckedTransformer(kAlgorithms, CLI::ignore_case)
                      .description("automatic, ring or tree"));
  verb.add_option("--seed", options.changes.seed, "of the jitter");
}

}  // namespace

void add_simulate(CLI::App& program, Action& action) {
  auto options = std::make_shared<SimulateOptions>();
  auto* verb = program.add_subcommand("simulate", "predict a training step without running it");
  add_step_options(*verb, *options);
  verb->add_option("--config", options->config,
                   "a configuration: a file, or the JSON itself (default: the profile's, else the "
                   "defaults)");
  verb->add_option("--set", options->set, "KNOB=VALUE, over --config; repeat it")
      ->allow_extra_args(false);
  verb->add_option("--sweep", options->sweep,
                   "KNOB=A,B,C: a row for each value; repeat it for all combinations")
      ->allow_extra_args(false);
  verb->add_option("--iterations", options->iterations,
                   "how many to simulate (default: until the period repeats)");
  verb->add_option("--trace", options->trace, "write the timeline to this file");
  verb->add_option("--record", options->record, "write the tape of decisions to this file");
  verb->add_option("--step-out", options->step_out, "write the step description to this file");
  verb->add_option("--rank", options->rank, "whose timeline and tape")->capture_default_str();
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(kSimulateFooter);
  verb->callback([options, &action] {
    action = [options](Context& c) { return simulate_verb(*options, c); };
  });
}

}  // namespace hocket
