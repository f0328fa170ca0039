#include "tuner/command_runner.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "tuner/printable.h"
#include "tuner/schedule_space.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportName = "report.json";
constexpr std::int64_t kNumbersLimitBytes = 1 << 20;
constexpr std::size_t kMessageLines = 5, kMessageLimitBytes = 1000;

/// `argument` with every {NAME} of a parameter replaced; replacements are not looked into again.
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
    outcome.metrics["compute_ns"].push_back(static_cast<double>(iteration.compute_ns));
    outcome.metrics["communication_ns"].push_back(static_cast<double>(iteration.communication_ns));
    outcome.metrics["exposed_ns"].push_back(static_cast<double>(iteration.exposed_ns));
  }
  outcome.report = report;
}

/// Whether the job ran under the knobs among `params`; a job that reads another configuration would
/// be tuned in vain.
bool used_config_of(const Params& params, const RunReport& report) {
  const auto used = to_json(report.config);
  for (const auto& [name, value] : params) {
    if (is_knob(name) && used.value(name, nlohmann::json()) != to_json(value)) return false;
  }
  return true;
}

std::string seconds_text(std::int64_t ns) {
  return to_text(static_cast<double>(ns) / 1e9) + " s";
}

/// How the command ended and what it said last.
std::string describe_failure(const ProcessResult& result) {
  const bool silent = result.stderr_text.find_first_not_of("\r\n") == std::string::npos;
  const std::string said = last_lines(silent ? result.stdout_text : result.stderr_text,
                                      kMessageLines, kMessageLimitBytes);
  const std::string end = "the command ended with " + describe_end(result);
  if (said.empty()) return end + " and said nothing";
  return end + ", its last output: " + said;
}

/// What came of the file that HOCKET_REPORT names.
struct Delivery {
  std::optional<RunReport> report;
  std::string problem;  ///< empty when there is a report, or no file

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

/// The text of a regular file, nothing when there is none or it cannot be read.
std::optional<std::string> read_if_there(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const auto text = read_file(path.string(), kNumbersLimitBytes);
  if (!text) return std::nullopt;
  return *text;
}

/// Removes the objective's file of an earlier trial. A file that holds anything but numbers was
/// written by nobody's trial and is left to its owner.
Result<void> remove_numbers(const fs::path& path) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  if (!fs::exists(status)) return {};
  const auto text = read_if_there(path);
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

Result<CommandRunner> CommandRunner::make(CommandOptions options, const Clock& clock,
                                          const CancelToken& cancel) {
  if (options.command.empty() || options.command[0].empty()) {
    return failure(ErrorCode::invalid_argument, "there is no command to run");
  }
  if (options.time_limit_ns && *options.time_limit_ns <= 0) {
    return failure(ErrorCode::invalid_argument,
                   "the time limit must be above 0, found " + seconds_text(*options.time_limit_ns));
  }
  std::error_code error;
  auto folder = fs::temp_directory_path(error);
  if (error) {
    return failure(ErrorCode::unavailable, "no folder for temporary files: " + error.message());
  }
  std::string name = (folder / "hocket-XXXXXX").string();
  if (!mkdtemp(name.data())) {
    return failure(ErrorCode::unavailable,
                   "cannot make the folder " + name + ": " + std::strerror(errno));
  }
  return CommandRunner(std::move(options), clock, cancel, name);
}

CommandRunner::CommandRunner(CommandOptions options, const Clock& clock, const CancelToken& cancel,
                             fs::path folder)
    : options_(std::move(options)), clock_(&clock), cancel_(&cancel), folder_(std::move(folder)) {}

CommandRunner::CommandRunner(CommandRunner&& other) noexcept
    : options_(std::move(other.options_)),
      clock_(other.clock_),
      cancel_(other.cancel_),
      folder_(std::exchange(other.folder_, {})) {}

CommandRunner::~CommandRunner() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

fs::path CommandRunner::objective_file() const {
  return fs::path(options_.working_directory) / options_.objective.argument;
}

Result<ProcessOptions> CommandRunner::process_options(const Params& params) const {
  ProcessOptions process;
  process.working_directory = options_.working_directory;
  process.time_limit_ns = options_.time_limit_ns;
  for (const auto& argument : options_.command) {
    process.argv.push_back(substituted(argument, params));
  }
  bool has_knob = false;
  for (const auto& [name, value] : params) {
    process.environment[name] = to_text(value);
    has_knob = has_knob || is_knob(name);
  }
  if (has_knob) {
    const auto config = schedule_config_for(params);
    if (!config) return failure(config.error());
    process.environment["HOCKET_CONFIG"] = to_json(*config).dump();
  }
  process.environment["HOCKET_REPORT"] = (folder_ / kReportName).string();
  return process;
}

Result<void> CommandRunner::remove_stale_files() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error) fs::remove(folder_ / kReportName, error);
  if (error) {
    return failure(ErrorCode::unavailable,
                   "cannot use the folder " + folder_.string() + ": " + error.message());
  }
  if (options_.objective.kind != ObjectiveKind::file) return {};
  return remove_numbers(objective_file());
}

Result<TrialOutcome> CommandRunner::run(const Params& params) {
  if (auto ok = remove_stale_files(); !ok) return failure(ok.error());
  const auto process = process_options(params);
  if (!process) return failure(process.error());
  auto result = run_process(*process, *clock_, *cancel_);
  if (!result) return failure(result.error());
  if (result->cancelled) {
    return failure(ErrorCode::interrupted, "interrupted while the command ran");
  }
  return judge(params, std::move(*result));
}

TrialOutcome CommandRunner::judge(const Params& params, ProcessResult result) {
  TrialOutcome outcome;
  outcome.metrics["wall_ns"] = {static_cast<double>(result.wall_ns)};
  const Delivery delivery = read_delivery(folder_ / kReportName);
  if (delivery.report) add_report(*delivery.report, outcome);

  if (result.timed_out) {
    outcome.state = TrialState::timeout;
    outcome.message =
        "not done within " + seconds_text(*options_.time_limit_ns) + "; its processes were ended";
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
    measure(std::move(result), outcome);
  }
  return outcome;
}

bool CommandRunner::needs_report() const {
  return options_.objective.kind == ObjectiveKind::automatic ||
         options_.objective.kind == ObjectiveKind::report;
}

void CommandRunner::measure(ProcessResult result, TrialOutcome& outcome) {
  if (options_.objective.kind == ObjectiveKind::automatic) {
    options_.objective.kind = outcome.report ? ObjectiveKind::report : ObjectiveKind::wall;
  }
  Evidence evidence{std::move(result.stdout_text), std::move(result.stderr_text), result.wall_ns,
                    outcome.report, std::nullopt};
  if (options_.objective.kind == ObjectiveKind::file) {
    evidence.file_text = read_if_there(objective_file());
  }
  auto measured = evaluate(options_.objective, options_.skip, evidence);
  if (!measured) {
    outcome.message = printable(measured.error().message, kMessageLimitBytes);
    return;
  }
  outcome.state = TrialState::complete;
  outcome.value = measured->value;
  outcome.spread = measured->spread;
  outcome.samples = std::move(measured->samples);
}

}  // namespace hocket
