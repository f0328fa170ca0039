// hocket simulate: predicts a step without running it.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "archive/profiles/export_profile.h"
#include "cli/inputs/config/config_source.h"
#include "cli/inputs/config/knob_text.h"
#include "cli/inputs/step/measured_job.h"
#include "cli/inputs/step/step_source.h"
#include "cli/output/value_text.h"
#include "cli/verbs/simulation/simulation_record.h"
#include "cli/verbs/verb.h"
#include "cli/views/profile_view.h"
#include "cli/views/simulation_view.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/description/step_programs.h"
#include "core/sim/offload/offload_choice.h"
#include "core/sim/simulator.h"

namespace hocket {
namespace {

struct SimulateOptions {
  std::string step, profile, store, step_out;
  ConfigChoice config;
  std::string baseline;
  std::vector<std::string> set, sweep;
  StepChanges changes;
  std::int64_t iterations = 0, rank = 0;
  std::string trace, record;
  bool offload = false, json = false;
};

constexpr std::int64_t kMaxIterations = 1'000'000;

constexpr const char* kSimulateFooter =
    "STEP is a step description in JSON (docs/formats/step.md); - reads standard input. --profile\n"
    "takes a measured job in its place, with its configuration and the links that it measured.\n"
    "Examples:\n"
    "  hocket simulate vgg16.json --set partition_bytes=4MiB --set order=static\n"
    "  hocket simulate vgg16.json --preset ddp --sweep bucket_cap_mb=1,5,25,100\n"
    "  hocket simulate vgg16.json --ranks 64 --ranks-per-host 8 \\\n"
    "      --link host=300gbit,5us --link network=25gbit,20us\n"
    "  hocket simulate vgg16.json --sweep partition_bytes=1MiB,4MiB --sweep order=fifo,static\n"
    "  hocket simulate vgg16.json --trace out.json       open it at https://ui.perfetto.dev\n"
    "  hocket simulate placed.json --offload     how many layers a device of limited memory keeps\n"
    "  hocket simulate --profile gpt2-3 --set credit_bytes=8MiB\n"
    "  hocket simulate --profile gpt2-3 --ranks 8 --link network=10gbit,20us\n";

/// The step to simulate.
struct Subject {
  StepDescription step;
  std::optional<MeasuredJob> job = {};  ///< with --profile
};

/// Returns the description with the changes applied.
Result<Subject> subject_of_step(const SimulateOptions& options, std::ostream& err) {
  auto step = read_changed_step(options.step, options.changes, err);
  HOCKET_TRY(step);
  return Subject{std::move(*step)};
}

Result<Subject> subject_of_profile(const SimulateOptions& options, std::ostream& err) {
  auto job = read_measured_job(options.store, options.profile);
  HOCKET_TRY(job);
  auto step = change_measured_step(job->profile.calibration, options.changes);
  if (!step) return failure(step.error().in("profile " + job->name));
  print_notes(err, job->profile.notes);
  err << "hocket: " << check_text(*job) << std::endl;
  return Subject{std::move(*step), std::move(*job)};
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
  const bool asks_more = !options.sweep.empty() || !options.trace.empty() ||
                         !options.record.empty() || !options.baseline.empty() ||
                         options.iterations != 0;
  if (options.offload && asks_more) {
    return invalid(
        "--offload judges every offload_k by its steady period, without --sweep, --trace, "
        "--record, --baseline and --iterations");
  }
  return {};
}

SimulationOptions simulation_options(const ScheduleConfig& config, const SimulateOptions& options) {
  SimulationOptions simulation;
  simulation.config = config;
  simulation.iterations = options.iterations;
  return simulation;
}

/// A question about a step.
struct Question {
  Subject subject;
  NamedConfig present;          ///< before --set and --sweep
  ScheduleConfig config;        ///< after --set
  PredictionBaseline baseline;  ///< absent with --offload
};

/// Returns the present configuration with --set applied.
Result<ScheduleConfig> changed_config(const SimulateOptions& options, ScheduleConfig config) {
  for (const auto& assignment : options.set) {
    if (auto ok = set_knob(config, assignment); !ok) return failure(ok.error().in("--set"));
  }
  return config;
}

/// Returns the configuration that is asked about first.
Result<ScheduleConfig> first_asked(const SimulateOptions& options, ScheduleConfig asked) {
  for (const std::string& sweep : options.sweep) {
    if (auto ok = set_knob(asked, sweep.substr(0, sweep.find(','))); !ok)
      return failure(ok.error().in("--sweep"));
  }
  return asked;
}

/// Simulates the configuration that speed-ups are against: the one given, else what the measured
/// job ran with, else the present one. Where that does not fit into a device's memory, or ranks run
/// programs that have no such order, it is the first that is asked about.
Result<PredictionBaseline> make_baseline(const SimulateOptions& options, const Subject& subject,
                                         const NamedConfig& recorded, const NamedConfig& present,
                                         const ScheduleConfig& asked, std::ostream& err) {
  auto config = options.baseline.empty() ? Result<NamedConfig>(subject.job ? recorded : present)
                                         : read_baseline(options.baseline, err);
  HOCKET_TRY(config);
  auto simulation = simulate(subject.step, simulation_options(config->config, options));
  const bool may_not_fit = subject.step.device_memory_bytes > 0 || takes_part_by_rank(subject.step);
  if (!simulation && options.baseline.empty() && may_not_fit) {
    auto first = first_asked(options, asked);
    HOCKET_TRY(first);
    *config = NamedConfig{"the first configuration asked about", std::move(*first)};
    simulation = simulate(subject.step, simulation_options(config->config, options));
    if (!simulation) return failure(simulation.error());
  }
  if (!simulation && config->config == asked) return failure(simulation.error());
  if (!simulation) {
    return failure(
        simulation.error().in("the baseline, " + config->name + " (--baseline gives another)"));
  }
  return PredictionBaseline{std::move(config->name), std::move(config->config),
                            simulation->iteration_ns};
}

Result<Question> make_question(const SimulateOptions& options, std::ostream& err) {
  auto subject = make_subject(options, err);
  HOCKET_TRY(subject);
  HOCKET_TRY(check(options, subject->step));
  const NamedConfig recorded = subject->job
                                   ? NamedConfig{"what profile " + subject->job->name + " ran with",
                                                 subject->job->profile.config}
                                   : hockets_defaults();
  auto present = read_config(options.config, recorded, err);
  HOCKET_TRY(present);
  auto config = changed_config(options, present->config);
  HOCKET_TRY(config);
  const bool is_as_measured = subject->job && options.changes.is_empty() && options.sweep.empty() &&
                              options.baseline.empty() && !options.offload &&
                              *config == recorded.config;
  const auto comparable = check_comparable(subject->step, is_as_measured);
  if (!comparable) {
    return failure(comparable.error().in(
        subject->job ? "profile " + subject->job->name
                     : std::string(options.step == "-" ? "standard input" : options.step)));
  }
  Question question{std::move(*subject), std::move(*present), std::move(*config), {}};
  if (options.offload) return question;
  auto baseline =
      make_baseline(options, question.subject, recorded, question.present, question.config, err);
  HOCKET_TRY(baseline);
  question.baseline = std::move(*baseline);
  return question;
}

const MeasuredJob* job_of(const Subject& subject) {
  return subject.job ? &*subject.job : nullptr;
}

/// Returns the prediction as JSON with what to know of it.
nlohmann::json with_notes(nlohmann::json document, const Question& question,
                          const Prediction& prediction) {
  auto notes = question.present.notes;
  for (const HiddenKnob& hidden : hidden_in(question.subject.step, prediction))
    notes.push_back(hidden.text);
  for (auto& doubt : doubts_on(job_of(question.subject), prediction.config))
    notes.push_back(std::move(doubt));
  document["notes"] = std::move(notes);
  const StepDescription& step = question.subject.step;
  if (step.device_memory_bytes > 0)
    document["placement"] = placement_json(step, prediction.simulation);
  if (question.subject.job)
    document["profile"] = job_json(*question.subject.job, prediction.config);
  return document;
}

/// Prints what to know of the predictions, once each: of several rows in which one knob hides
/// another, the first.
void print_what_to_know(const Question& question, std::span<const Prediction* const> predictions,
                        std::ostream& err) {
  auto notes = question.present.notes;
  const std::string& withheld = question.subject.step.prediction_withheld;
  if (!withheld.empty())
    notes.push_back("only the measured configuration is predicted: " + withheld);
  std::vector<std::pair<HiddenKnob, int>> all_hidden;
  std::vector<std::string> doubts;
  for (const Prediction* const prediction : predictions) {
    for (HiddenKnob& hidden : hidden_in(question.subject.step, *prediction)) {
      const auto same = std::ranges::find_if(all_hidden, [&](const auto& other) {
        return other.first.knob == hidden.knob && other.first.by == hidden.by;
      });
      if (same == all_hidden.end()) {
        all_hidden.emplace_back(std::move(hidden), 1);
      } else {
        ++same->second;
      }
    }
    for (auto& doubt : doubts_on(job_of(question.subject), prediction->config))
      if (std::ranges::find(doubts, doubt) == doubts.end()) doubts.push_back(std::move(doubt));
  }
  for (const auto& [hidden, rows] : all_hidden) {
    const std::string others = std::to_string(rows) + " of " + std::to_string(predictions.size());
    notes.push_back(hidden.text + (rows > 1 ? " (alike in " + others + " rows)" : ""));
  }
  notes.insert(notes.end(), doubts.begin(), doubts.end());
  print_notes(err, notes);
}

/// Tells what chooses a configuration, where the predicted one is hocket's defaults or slower than
/// the baseline.
void print_pointer(const SimulateOptions& options, const Question& question,
                   const Prediction& prediction, std::ostream& err) {
  const bool is_slower = prediction.simulation.iteration_ns > question.baseline.iteration_ns;
  if (question.subject.job || options.step == "-") return;  // the step is in no file
  if (takes_part_by_rank(question.subject.step)) return;    // nothing chooses for these yet
  if (!is_slower && prediction.config != hockets_defaults().config) return;
  const std::string changes = step_change_arguments(options.changes);
  if (question.subject.step.device_memory_bytes > 0) {
    err << "hocket: `hocket simulate " << shell_quoted(options.step) << changes
        << " --offload` compares how many layers the device keeps" << std::endl;
    return;
  }
  err << "hocket: `hocket explain " << shell_quoted(options.step) << changes
      << "` chooses a configuration for these ranks" << std::endl;
}

Result<void> simulate_once(const SimulateOptions& options, const Question& question,
                           VerbContext& context) {
  const StepDescription& step = question.subject.step;
  auto record =
      SimulationRecord::create(options.trace, options.record, step, question.config, options.rank);
  HOCKET_TRY(record);
  auto simulation_of = simulation_options(question.config, options);
  (*record)->attach(simulation_of);
  auto simulation = simulate(step, simulation_of);
  HOCKET_TRY(simulation);
  if (auto ok = (*record)->finish(); !ok) return ok;
  const Prediction prediction{question.config, std::move(*simulation)};
  const Prediction* const predictions[] = {&prediction};
  print_what_to_know(question, predictions, context.err);
  if (options.json) {
    auto document = prediction_json(step, prediction, question.baseline);
    context.out << json_text(with_notes(std::move(document), question, prediction)) << '\n';
  } else {
    print_prediction(context.out, step, prediction, question.baseline);
    print_pointer(options, question, prediction, context.err);
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

Result<void> simulate_sweep(const SimulateOptions& options, const Question& question,
                            VerbContext& context) {
  const StepDescription& step = question.subject.step;
  std::vector<KnobSweep> sweeps;
  for (const auto& text : options.sweep) {
    auto sweep = parse_knob_sweep(text);
    if (!sweep) return failure(sweep.error().in("--sweep"));
    sweeps.push_back(std::move(*sweep));
  }
  const auto all = sweep_combinations(sweeps);
  if (!all) return failure(all.error().in("--sweep"));
  std::vector<SweepRow> rows;
  for (const auto& values : *all) {
    auto row = sweep_row(options, step, question.config, sweeps, values);
    HOCKET_TRY(row);
    rows.push_back(std::move(*row));
  }
  std::vector<const Prediction*> predictions;
  for (const SweepRow& row : rows) predictions.push_back(&row.prediction);
  print_what_to_know(question, predictions, context.err);
  if (options.json) {
    auto document = sweep_json(step, rows, question.baseline);
    for (std::size_t i = 0; i < rows.size(); ++i)
      document[i] = with_notes(std::move(document[i]), question, rows[i].prediction);
    context.out << json_text(document) << '\n';
  } else {
    print_sweep(context.out, sweeps, rows, question.baseline);
  }
  return {};
}

/// Judges how many layers a device of limited memory keeps.
Result<void> simulate_offload(const SimulateOptions& options, const Question& question,
                              VerbContext& context) {
  const StepDescription& step = question.subject.step;
  const auto choice = choose_offload(step, question.config);
  if (!choice) return failure(choice.error().in("--offload"));
  print_notes(context.err, question.present.notes);
  if (options.json) {
    context.out << json_text(offload_json(step, *choice, question.config)) << '\n';
  } else {
    print_offload(context.out, step, *choice);
  }
  return {};
}

Result<int> simulate_verb(const SimulateOptions& options, VerbContext& context) {
  const auto question = make_question(options, context.err);
  HOCKET_TRY(question);
  if (!options.step_out.empty()) {
    const std::string text = to_json(question->subject.step).dump(2) + "\n";
    HOCKET_TRY(write_whole_file(options.step_out, text));
  }
  const auto run = options.offload         ? simulate_offload
                   : options.sweep.empty() ? simulate_once
                                           : simulate_sweep;
  HOCKET_TRY(run(options, *question, context));
  return kDone;
}

void add_step_options(CLI::App& verb, SimulateOptions& options) {
  verb.add_option("STEP", options.step, "the step description; - for standard input")
      ->type_name("FILE");
  verb.add_option("--profile", options.profile, "the step of this profile, by its name or number");
  verb.add_option("--store", options.store, "the store's file, which has the profile");
  add_step_changes(verb, options.changes);
}

}  // namespace

void add_simulate(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<SimulateOptions>();
  auto* verb = program.add_subcommand("simulate", "predict a training step without running it");
  add_step_options(*verb, *options);
  add_config_options(*verb, options->config, "the profile's, else hocket's defaults");
  verb->add_option("--baseline", options->baseline,
                   "configuration that the speed-up is relative to: a preset, a file or the JSON "
                   "itself (default: "
                   "the profile's configuration, else the one before --set and --sweep)")
      ->type_name("FILE");
  verb->add_option("--set", options->set,
                   "KNOB=VALUE, over --preset or --config; bucket_cap_mb=25 and other names of "
                   "frameworks are understood; repeat it")
      ->type_name("KNOB=VALUE")
      ->allow_extra_args(false);
  verb->add_option("--sweep", options->sweep,
                   "KNOB=A,B,C: a row for each value; repeat it for all combinations")
      ->type_name("KNOB=A,B,…")
      ->allow_extra_args(false);
  verb->add_flag("--offload", options->offload,
                 "compare how many layers a device of limited memory keeps (offload_k)");
  verb->add_option("--iterations", options->iterations,
                   "how many to simulate (default: until the period repeats)");
  verb->add_option("--trace", options->trace, "write the timeline to this file")->type_name("FILE");
  verb->add_option("--record", options->record, "write the tape of decisions to this file")
      ->type_name("FILE");
  verb->add_option("--step-out", options->step_out, "write the step description to this file")
      ->type_name("FILE");
  verb->add_option("--rank", options->rank, "whose timeline and tape")->capture_default_str();
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(kSimulateFooter);
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return simulate_verb(*options, c); };
  });
}

}  // namespace hocket
