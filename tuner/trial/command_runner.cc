#include "tuner/trial/command_runner.h"

#include <poll.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "core/base/text.h"
#include "core/files/regular_file.h"
#include "tuner/space/schedule_space.h"
#include "tuner/trial/call/knob_call.h"
#include "tuner/trial/early_end.h"
#include "tuner/trial/objective_unit.h"
#include "tuner/trial/output/output_lines.h"
#include "tuner/trial/pipe_status.h"
#include "tuner/trial/placeholder.h"
#include "tuner/trial/running_samples.h"
#include "tuner/trial/warm_up.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char *kTrialVariable = "HOCKET_TRIAL", *kWorkerVariable = "HOCKET_WORKER";
constexpr const char* kReportName = "report.json";
constexpr const char* kIterationsName = "iterations";
/// Within this time a batch system has signalled all processes of a job.
constexpr int kSignalGapMs = 250;
constexpr std::int64_t kReportLimitBytes = 64 << 20;
constexpr std::size_t kMessageLines = 5, kMessageLimitBytes = 1000;

void add_report(const RunReport& report, TrialOutcome& outcome) {
  for (const auto& iteration : report.iterations) {
    outcome.metrics["iteration_ns"].push_back(static_cast<double>(iteration.wall_ns));
    if (iteration.is_whole) continue;
    outcome.metrics["compute_ns"].push_back(static_cast<double>(iteration.compute_ns));
    outcome.metrics["communication_ns"].push_back(static_cast<double>(iteration.communication_ns));
    outcome.metrics["exposed_ns"].push_back(static_cast<double>(iteration.exposed_ns));
  }
  outcome.report = report;
}

/// Returns whether the job ran under the knobs in `params`. Measurements of a job that reads
/// another configuration are useless for tuning.
bool used_config_of(const Params& params, const RunReport& report) {
  const auto used = knob_values(report.config);
  for (const auto& [name, value] : params) {
    if (is_knob(name) && used.value(name, nlohmann::json()) != to_json(value)) return false;
  }
  return true;
}

std::string seconds_text(std::int64_t ns) {
  return to_text(static_cast<double>(ns) / 1e9) + " s";
}

/// Returns the lowest limit on memory, if there is one.
std::optional<std::int64_t> memory_limit_bytes(const std::vector<MetricLimit>& limits) {
  std::optional<std::int64_t> lowest;
  for (const MetricLimit& limit : limits) {
    if (limit.objective.kind != ObjectiveKind::memory || limit.is_least) continue;
    // Above 2^63 bytes no limit is left.
    const auto bytes = static_cast<std::int64_t>(std::min(limit.bound, 0x1p62));
    lowest = std::min(lowest.value_or(bytes), bytes);
  }
  return lowest;
}

std::string over_memory_text(const ProcessResult& result, std::int64_t limit_bytes) {
  return "its processes held " +
         value_text(static_cast<double>(result.peak_memory_bytes), ObjectiveUnit::bytes) +
         " of memory, over the limit of " +
         value_text(static_cast<double>(limit_bytes), ObjectiveUnit::bytes) + ", and were ended";
}

/// Returns how the command ended and its last output.
std::string describe_failure(const ProcessResult& result) {
  const bool silent = result.stderr_text.find_first_not_of("\r\n") == std::string::npos;
  const std::string said = last_lines(last_states(silent ? result.stdout_text : result.stderr_text),
                                      kMessageLines, kMessageLimitBytes);
  const std::string end = "the command ended with " + describe_end(result);
  if (said.empty()) return end + " and said nothing";
  return end + ", its last output: " + said;
}

/// Keeps the first `count` samples of a run as its warm-up.
void note_warm_up(std::span<const double> samples, std::size_t count, TrialOutcome& outcome) {
  if (count == 0) return;
  const auto first = samples.first(count);
  outcome.metrics[kWarmUpMetric].assign(first.begin(), first.end());
}

/// Returns the outcome of a trial that was ended early with `samples`.
TrialOutcome ended_trial(std::span<const double> samples, const EarlyEnd& end,
                         Direction direction) {
  char text[120];
  std::snprintf(text, sizeof text,
                "ended early after %zu iterations: %s than the best so far (p = %.2g)",
                samples.size(), direction == Direction::maximise ? "lower" : "slower", end.p);
  const auto counted = samples.subspan(end.warm_up);
  TrialOutcome outcome = complete_trial({counted.begin(), counted.end()});
  outcome.metrics[kEndedEarlyMetric] = {static_cast<double>(samples.size())};
  note_warm_up(samples, end.warm_up, outcome);
  outcome.message = text;
  return outcome;
}

/// Content of the file that HOCKET_REPORT names.
struct Delivery {
  std::optional<RunReport> report;
  std::string problem;  ///< empty if there is a report or no file

  bool is_full() const { return report && !report->iterations.empty(); }
};

Delivery read_delivery(const fs::path& path) {
  const auto text = read_regular_file(path.string(), kReportLimitBytes, Links::refused);
  if (!text && text.error().code == ErrorCode::not_found) return {};
  const auto report = text ? parse_report(*text) : failure(text.error());
  if (report) return {*report, {}};
  return {std::nullopt, printable(report.error().message, kMessageLimitBytes)};
}

/// Removes the objective's file of an earlier trial. A file that holds anything but numbers was not
/// written by a trial; it is kept and reported as an error.
Result<void> remove_numbers(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return {};
  const auto text = read_numbers_file(path);
  if (!text || !parse_numbers(*text)) {
    return failure(ErrorCode::invalid_argument,
                   "objective file " + path.string() + " is there already and " +
                       (text ? "holds more than numbers" : "is no file of numbers") +
                       ", so it is not removed; move it away, or name another file" +
                       (text ? "" : " (" + text.error().message + ")"));
  }
  if (fs::remove(path, error)) return {};
  return failure(ErrorCode::unavailable, "cannot remove " + path.string() + ": " + error.message());
}

}  // namespace

Result<CommandRunner> CommandRunner::make(CommandOptions options, const Clock& clock,
                                          const CancelToken& cancel) {
  if (options.command.empty() || options.command[0].empty()) {
    return failure(ErrorCode::invalid_argument, "there is no command to run");
  }
  if (options.time_limit_ns && *options.time_limit_ns <= 0) {
    return failure(ErrorCode::invalid_argument,
                   "the time limit must be above 0, found " + seconds_text(*options.time_limit_ns));
  }
  auto folder = ScratchFolder::make();
  HOCKET_TRY(folder);
  return CommandRunner(std::move(options), clock, cancel, std::move(*folder));
}

CommandRunner::CommandRunner(CommandOptions options, const Clock& clock, const CancelToken& cancel,
                             ScratchFolder folder)
    : options_(std::move(options)), clock_(&clock), cancel_(&cancel), folder_(std::move(folder)) {
  earlier_.start = outliving_start(options_.command);
  earlier_.have_stop_command = !options_.stop_command.empty();
  units_.push_back(number_unit(options_.objective.unit));
  for (const Objective& other : options_.other_objectives)
    units_.push_back(number_unit(other.unit));
}

fs::path CommandRunner::scratch_file(const char* name) const {
  return fs::path(folder_.path()) / name;
}

fs::path CommandRunner::file_of(const Objective& objective) const {
  return fs::path(options_.working_directory) / filled(objective).argument;
}

Objective CommandRunner::filled(Objective objective) const {
  if (objective.kind == ObjectiveKind::file)
    objective.argument = filled_text(objective.argument, values_);
  return objective;
}

PlaceholderValues CommandRunner::names_of(std::int64_t number) const {
  PlaceholderValues names = {{kTrialPlaceholder, std::to_string(number)}};
  const auto own = options_.environment.find(kWorkerVariable);
  const char* const inherited = std::getenv(kWorkerVariable);
  names[kWorkerPlaceholder] = !options_.worker.empty()            ? options_.worker
                              : own != options_.environment.end() ? own->second
                              : inherited                         ? inherited
                                                                  : "0";
  return names;
}

Result<ProcessOptions> CommandRunner::process_options(const Params& params,
                                                      std::int64_t number) const {
  auto call = call_with(options_.command, params, names_of(number));
  HOCKET_TRY(call);
  HOCKET_TRY(apply_knobs(options_.knobs, options_.command, params, options_.knob_defaults,
                         surroundings_of(options_.working_directory, folder_.path()), *call));
  HOCKET_TRY(write_files(*call));
  ProcessOptions process;
  process.argv = with_pipe_status(std::move(call->argv));
  process.environment = std::move(call->environment);
  process.absent = std::move(call->absent);
  process.environment.insert(options_.environment.begin(), options_.environment.end());
  process.working_directory = options_.working_directory;
  process.time_limit_ns = options_.time_limit_ns;
  if (options_.time_left_ns) {
    const std::int64_t left_ns = std::max<std::int64_t>(options_.time_left_ns(), 1);
    process.time_limit_ns = std::min(process.time_limit_ns.value_or(left_ns), left_ns);
  }
  process.memory_limit_bytes = memory_limit_bytes(options_.limits);
  process.environment[kTrialVariable] = std::to_string(number);
  process.environment["HOCKET_REPORT"] = scratch_file(kReportName).string();
  process.environment["HOCKET_ITERATIONS"] = scratch_file(kIterationsName).string();
  return process;
}

Result<void> CommandRunner::remove_stale_files() const {
  std::error_code error;
  fs::create_directories(folder_.path(), error);
  for (const char* name : {kReportName, kIterationsName}) {
    // A job may have made a folder of it.
    if (!error) fs::remove_all(scratch_file(name), error);
  }
  if (error) {
    return failure(ErrorCode::unavailable,
                   "cannot use the folder " + folder_.path() + ": " + error.message());
  }
  std::vector<Objective> objectives = {options_.objective};
  for (const Objective& other : options_.other_objectives) objectives.push_back(other);
  for (const MetricLimit& limit : options_.limits) objectives.push_back(limit.objective);
  for (const Objective& objective : objectives) {
    if (objective.kind != ObjectiveKind::file) continue;
    if (auto ok = remove_numbers(file_of(objective)); !ok) return ok;
  }
  return {};
}

bool CommandRunner::is_about_to_end(const ProcessResult& result) const {
  if (result.timed_out || result.ended_early || result.over_memory) return false;
  pollfd file{cancel_->fd(), POLLIN, 0};
  poll(&file, 1, kSignalGapMs);
  return cancel_->cancelled();
}

Result<TrialOutcome> CommandRunner::run(const Params& params, std::span<const double> incumbent,
                                        std::int64_t number) {
  if (const auto* file = changed_file(options_.files, FilesCompared::programs)) {
    return failure(ErrorCode::invalid_argument,
                   file->path + " has changed since the study began, and values of before and " +
                       "after do not mix: start a new study, or resume this one with " +
                       "--accept-changes");
  }
  values_ = placeholder_values(params, names_of(number));
  HOCKET_TRY(remove_stale_files());
  auto process = process_options(params, number);
  HOCKET_TRY(process);
  limit_ns_ = process->time_limit_ns.value_or(0);
  const Objective& objective = options_.objective;
  std::optional<LiveSamples> live;
  std::vector<double> samples;
  std::optional<EarlyEnd> end;
  const std::vector<double> best = costs(incumbent, objective.direction);
  if (incumbent.size() >= kLeastSamples && LiveSamples::can_see(objective)) {
    auto made = LiveSamples::make(
        objective, options_.skip,
        objective.kind == ObjectiveKind::file ? file_of(objective) : scratch_file(kIterationsName),
        units_.front());
    HOCKET_TRY(made);
    live.emplace(std::move(*made));
    process->watch = [&](const OutputSoFar& output) {
      samples = live->read(output);
      end = early_end(costs(samples, objective.direction), best);
      return end.has_value();
    };
  }
  const auto result = run_process(*process, *clock_, *cancel_);
  HOCKET_TRY(result);
  const std::string not_stopped = stop_job(params, *process, number);
  if (result->cancelled || (!result->succeeded() && is_about_to_end(*result))) {
    return failure(ErrorCode::interrupted, "interrupted while the command ran" + not_stopped);
  }
  TrialOutcome outcome = result->ended_early ? ended_trial(samples, *end, objective.direction)
                                             : judge(params, *result);
  outcome.output = result->output;
  outcome.metrics["wall_ns"] = {static_cast<double>(result->wall_ns)};
  outcome.metrics["peak_memory_bytes"] = {static_cast<double>(result->peak_memory_bytes)};
  apply_limits(*result, outcome);
  name_earlier_job(*result, outcome);
  outcome.message +=
      outcome.message.empty() && !not_stopped.empty() ? not_stopped.substr(2) : not_stopped;
  earlier_.are_any = true;
  earlier_.was_one_ended =
      earlier_.was_one_ended || result->timed_out || result->ended_early || result->over_memory;
  return outcome;
}

std::string CommandRunner::stop_job(const Params& params, const ProcessOptions& trial,
                                    std::int64_t number) const {
  if (options_.stop_command.empty()) return {};
  auto call = call_with({"sh", "-c", options_.stop_command}, params, names_of(number));
  if (!call) return "; warning: the stop command did not run: " + call.error().message;
  ProcessOptions process;
  process.argv = std::move(call->argv);
  process.environment = trial.environment;
  process.absent = trial.absent;
  process.working_directory = trial.working_directory;
  process.time_limit_ns = options_.stop_limit_ns;
  // A request to stop has been made by now, and is what this waits for.
  const CancelToken none;
  const auto result = run_process(process, *clock_, none);
  if (!result) return "; warning: the stop command did not run: " + result.error().message;
  if (result->succeeded()) return {};
  if (result->timed_out) {
    return "; warning: the stop command was not done within " +
           seconds_text(options_.stop_limit_ns) + " and was ended";
  }
  return "; warning: the stop command failed: " + describe_failure(*result);
}

void CommandRunner::name_earlier_job(const ProcessResult& result, TrialOutcome& outcome) const {
  if (outcome.state == TrialState::complete) return;
  std::string cause = earlier_job_text(result.stderr_text, earlier_);
  if (cause.empty()) cause = earlier_job_text(result.stdout_text, earlier_);
  outcome.message += cause;
  if (cause.empty() && result.succeeded() && result.had_left) {
    outcome.message +=
        "; the command had ended while processes that it had started still ran, and these were "
        "ended with it: it must wait for its job";
  }
}

TrialOutcome CommandRunner::judge(const Params& params, const ProcessResult& result) {
  TrialOutcome outcome;
  const Delivery delivery = read_delivery(scratch_file(kReportName));
  if (delivery.report) add_report(*delivery.report, outcome);

  if (result.timed_out) {
    outcome.state = TrialState::timeout;
    outcome.message = "not done within " + seconds_text(limit_ns_) + "; its processes were ended";
  } else if (result.over_memory) {
    outcome.message = over_memory_text(result, *memory_limit_bytes(options_.limits));
  } else if (!result.succeeded() && !delivery.is_full()) {
    outcome.message = describe_failure(result);
  } else if (needs_report() && !delivery.problem.empty()) {
    outcome.message = delivery.problem;
  } else {
    if (!result.succeeded()) {
      outcome.message = "warning: it delivered its report, then " + describe_failure(result);
    } else if (delivery.report && !used_config_of(params, *delivery.report)) {
      outcome.message = "warning: the job reports another configuration than it was given";
    }
    measure(result, outcome);
  }
  return outcome;
}

bool CommandRunner::needs_report() const {
  const auto is_report = [](const Objective& o) { return o.kind == ObjectiveKind::report; };
  return options_.objective.kind == ObjectiveKind::automatic || is_report(options_.objective) ||
         std::ranges::any_of(options_.other_objectives, is_report);
}

TrialEvidence CommandRunner::evidence_for(const Objective& objective, const ProcessResult& result,
                                          const TrialOutcome& outcome) const {
  TrialEvidence evidence{.stdout_text = result.stdout_text,
                         .stderr_text = result.stderr_text,
                         .wall_ns = result.wall_ns,
                         .peak_memory_bytes = result.peak_memory_bytes,
                         .report = outcome.report};
  if (objective.kind != ObjectiveKind::file) return evidence;
  auto text = read_numbers_file(file_of(objective));
  if (text) {
    evidence.file_text = std::move(*text);
  } else if (text.error().code != ErrorCode::not_found) {
    evidence.file_problem = text.error().message;
  }
  return evidence;
}

std::size_t CommandRunner::warm_up_in(const Objective& objective,
                                      std::span<const double> samples) const {
  const bool is_own =
      objective.kind == ObjectiveKind::regex || objective.kind == ObjectiveKind::file;
  if (!options_.finds_warm_up || !is_own) return 0;
  return warm_up_of(costs(samples, objective.direction));
}

void CommandRunner::measure(const ProcessResult& result, TrialOutcome& outcome) {
  if (options_.objective.kind == ObjectiveKind::automatic) {
    options_.objective.kind = outcome.report ? ObjectiveKind::report : ObjectiveKind::wall;
  }
  auto measured =
      evaluate_objective(filled(options_.objective), options_.skip,
                         evidence_for(options_.objective, result, outcome), units_.front());
  const auto others = measured ? measure_others(result, outcome) : failure(measured.error());
  if (!others) {
    outcome.message = printable(others.error().message, kMessageLimitBytes);
    return;
  }
  if (const auto& unit = units_.front(); unit && options_.objective.unit.empty())
    outcome.metrics[std::string(kUnitMetricPrefix) + unit->name] = {unit->factor};
  const std::size_t warm_up = warm_up_in(options_.objective, measured->samples);
  note_warm_up(measured->samples, warm_up, outcome);
  if (warm_up > 0) {
    outcome.message +=
        (outcome.message.empty() ? "" : "; ") +
        ("without its first " + std::to_string(warm_up) + " of " +
         std::to_string(measured->samples.size()) + " measurements, which are warm-up");
    *measured = without_first(std::move(*measured), warm_up);
  }
  outcome.state = TrialState::complete;
  outcome.value = measured->value;
  outcome.spread = measured->spread;
  outcome.samples = std::move(measured->samples);
}

Result<void> CommandRunner::measure_others(const ProcessResult& result, TrialOutcome& outcome) {
  for (std::size_t i = 0; i < options_.other_objectives.size(); ++i) {
    const Objective& objective = options_.other_objectives[i];
    auto measured = evaluate_objective(filled(objective), options_.skip,
                                       evidence_for(objective, result, outcome), units_[i + 1]);
    if (!measured) return failure(measured.error().in("objective " + label_of(objective)));
    *measured = without_first(std::move(*measured), warm_up_in(objective, measured->samples));
    outcome.others.push_back(measured->value);
    outcome.metrics[metric_of_other(i)] = std::move(measured->samples);
  }
  return {};
}

void CommandRunner::apply_limits(const ProcessResult& result, TrialOutcome& outcome) const {
  for (const MetricLimit& limit : options_.limits) {
    if (outcome.state != TrialState::complete) return;
    const Objective& objective = limit.objective;
    const bool only_grows =
        objective.kind == ObjectiveKind::memory || objective.kind == ObjectiveKind::wall;
    const bool counts_early = limit.is_forbidden || (only_grows && !limit.is_least);
    if (result.ended_early && !counts_early) continue;
    const auto why = limit_problem(limit, options_.skip, evidence_for(objective, result, outcome));
    if (!why) continue;
    set_failed(outcome, printable(*why, kMessageLimitBytes));
  }
}

}  // namespace hocket
