#include "tuner/trial/command_runner.h"

#include <poll.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

#include "core/base/json.h"
#include "core/base/text.h"
#include "tuner/space/schedule_space.h"
#include "tuner/trial/early_end.h"
#include "tuner/trial/objective_unit.h"
#include "tuner/trial/running_samples.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportName = "report.json";
constexpr const char* kIterationsName = "iterations";
/// Within this time a batch system has signalled all processes of a job.
constexpr int kSignalGapMs = 250;
constexpr std::size_t kMessageLines = 5, kMessageLimitBytes = 1000;

/// Returns `argument` with every {NAME} of a parameter replaced; replacements are not expanded
/// again.
std::string substituted(std::string_view argument, const Params& params) {
  std::string result;
  while (!argument.empty()) {
    if (argument.front() == '{') {
      const auto end = argument.find('}');
      const auto it = end == std::string_view::npos
                          ? params.end()
                          : params.find(std::string(argument.substr(1, end - 1)));
      if (it != params.end()) {
        result += to_text(it->second);
        argument.remove_prefix(end + 1);
        continue;
      }
    }
    result += argument.front();
    argument.remove_prefix(1);
  }
  return result;
}

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
  const std::string said = last_lines(silent ? result.stdout_text : result.stderr_text,
                                      kMessageLines, kMessageLimitBytes);
  const std::string end = "the command ended with " + describe_end(result);
  if (said.empty()) return end + " and said nothing";
  return end + ", its last output: " + said;
}

/// Returns the outcome of a trial that was ended early with `samples`, by a test with p-value `p`.
TrialOutcome ended_trial(std::vector<double> samples, double p, Direction direction) {
  char text[120];
  std::snprintf(text, sizeof text,
                "ended early after %zu iterations: %s than the best so far (p = %.2g)",
                samples.size(), direction == Direction::maximise ? "lower" : "slower", p);
  TrialOutcome outcome = complete_trial(std::move(samples));
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
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const auto text = read_file(path.string());
  const auto report = text ? parse_report(*text) : failure(text.error());
  if (report) return {*report, {}};
  return {std::nullopt, printable(report.error().message, kMessageLimitBytes)};
}

/// Removes the objective's file of an earlier trial. A file that holds anything but numbers was not
/// written by a trial; it is kept and reported as an error.
Result<void> remove_numbers(const fs::path& path) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return {};
  const auto text = read_numbers_file(path);
  if (!text || !parse_numbers(*text)) {
    return failure(ErrorCode::invalid_argument,
                   "objective file " + path.string() +
                       " is there already and holds more than numbers, so it is not removed; move "
                       "it away, or name another file");
  }
  if (fs::remove(path, error)) return {};
  return failure(ErrorCode::unavailable, "cannot remove " + path.string() + ": " + error.message());
}

}  // namespace

Result<CommandCall> call_with(const std::vector<std::string>& command, const Params& params) {
  CommandCall call;
  for (const auto& argument : command) call.argv.push_back(substituted(argument, params));
  bool has_knob = false;
  for (const auto& [name, value] : params) {
    // A region's knob has a name that is not valid in a shell.
    if (name.find('.') == std::string::npos) call.environment[name] = to_text(value);
    has_knob = has_knob || is_knob(name);
  }
  if (has_knob) {
    const auto config = schedule_config_for(params);
    HOCKET_TRY(config);
    call.environment["HOCKET_CONFIG"] = to_json(*config).dump();
  }
  return call;
}

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
    : options_(std::move(options)), clock_(&clock), cancel_(&cancel), folder_(std::move(folder)) {}

fs::path CommandRunner::scratch_file(const char* name) const {
  return fs::path(folder_.path()) / name;
}

fs::path CommandRunner::file_of(const Objective& objective) const {
  return fs::path(options_.working_directory) / objective.argument;
}

Result<ProcessOptions> CommandRunner::process_options(const Params& params) const {
  auto call = call_with(options_.command, params);
  HOCKET_TRY(call);
  ProcessOptions process;
  process.argv = std::move(call->argv);
  process.environment = std::move(call->environment);
  process.environment.insert(options_.environment.begin(), options_.environment.end());
  process.working_directory = options_.working_directory;
  process.time_limit_ns = options_.time_limit_ns;
  process.memory_limit_bytes = memory_limit_bytes(options_.limits);
  process.environment["HOCKET_REPORT"] = scratch_file(kReportName).string();
  process.environment["HOCKET_ITERATIONS"] = scratch_file(kIterationsName).string();
  return process;
}

Result<void> CommandRunner::remove_stale_files() const {
  std::error_code error;
  fs::create_directories(folder_.path(), error);
  for (const char* name : {kReportName, kIterationsName}) {
    if (!error) fs::remove(scratch_file(name), error);
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

Result<TrialOutcome> CommandRunner::run(const Params& params, std::span<const double> incumbent) {
  HOCKET_TRY(remove_stale_files());
  auto process = process_options(params);
  HOCKET_TRY(process);
  const Objective& objective = options_.objective;
  std::optional<LiveSamples> live;
  std::vector<double> samples;
  std::optional<double> p;
  const std::vector<double> best = costs(incumbent, objective.direction);
  if (incumbent.size() >= kLeastSamples && LiveSamples::can_see(objective)) {
    auto made = LiveSamples::make(
        objective, options_.skip,
        objective.kind == ObjectiveKind::file ? file_of(objective) : scratch_file(kIterationsName));
    HOCKET_TRY(made);
    live.emplace(std::move(*made));
    process->watch = [&](const OutputSoFar& output) {
      samples = live->read(output);
      p = early_end(costs(samples, objective.direction), best);
      return p.has_value();
    };
  }
  const auto result = run_process(*process, *clock_, *cancel_);
  HOCKET_TRY(result);
  if (result->cancelled || (!result->succeeded() && is_about_to_end(*result))) {
    return failure(ErrorCode::interrupted, "interrupted while the command ran");
  }
  TrialOutcome outcome = result->ended_early
                             ? ended_trial(std::move(samples), *p, objective.direction)
                             : judge(params, *result);
  outcome.output = result->output;
  outcome.metrics["wall_ns"] = {static_cast<double>(result->wall_ns)};
  outcome.metrics["peak_memory_bytes"] = {static_cast<double>(result->peak_memory_bytes)};
  apply_limits(*result, outcome);
  return outcome;
}

TrialOutcome CommandRunner::judge(const Params& params, const ProcessResult& result) {
  TrialOutcome outcome;
  const Delivery delivery = read_delivery(scratch_file(kReportName));
  if (delivery.report) add_report(*delivery.report, outcome);

  if (result.timed_out) {
    outcome.state = TrialState::timeout;
    outcome.message =
        "not done within " + seconds_text(*options_.time_limit_ns) + "; its processes were ended";
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
                         .report = outcome.report,
                         .file_text = {}};
  if (objective.kind == ObjectiveKind::file) {
    evidence.file_text = read_numbers_file(file_of(objective));
  }
  return evidence;
}

void CommandRunner::measure(const ProcessResult& result, TrialOutcome& outcome) {
  if (options_.objective.kind == ObjectiveKind::automatic) {
    options_.objective.kind = outcome.report ? ObjectiveKind::report : ObjectiveKind::wall;
  }
  auto measured = evaluate_objective(options_.objective, options_.skip,
                                     evidence_for(options_.objective, result, outcome));
  const auto others = measured ? measure_others(result, outcome) : failure(measured.error());
  if (!others) {
    outcome.message = printable(others.error().message, kMessageLimitBytes);
    return;
  }
  outcome.state = TrialState::complete;
  outcome.value = measured->value;
  outcome.spread = measured->spread;
  outcome.samples = std::move(measured->samples);
}

Result<void> CommandRunner::measure_others(const ProcessResult& result,
                                           TrialOutcome& outcome) const {
  for (std::size_t i = 0; i < options_.other_objectives.size(); ++i) {
    const Objective& objective = options_.other_objectives[i];
    auto measured =
        evaluate_objective(objective, options_.skip, evidence_for(objective, result, outcome));
    if (!measured) return failure(measured.error().in("objective " + label_of(objective)));
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
    if (result.ended_early && (!only_grows || limit.is_least)) continue;
    const auto why = limit_problem(limit, options_.skip, evidence_for(objective, result, outcome));
    if (!why) continue;
    set_failed(outcome, printable(*why, kMessageLimitBytes));
  }
}

}  // namespace hocket
