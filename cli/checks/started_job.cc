#include "cli/checks/started_job.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "cli/checks/load_checks.h"
#include "cli/checks/load_report.h"
#include "cli/process/nccl_environment.h"
#include "cli/process/torch_environment.h"
#include "client/link/environment.h"
#include "core/base/text.h"
#include "core/files/regular_file.h"
#include "core/files/scratch_folder.h"
#include "tuner/trial/process.h"

namespace hocket {
namespace {

constexpr const char* kReportVariable = "HOCKET_DOCTOR_FILE";
constexpr std::int64_t kProbeLimitNs = 60'000'000'000;
constexpr std::size_t kOutputBytes = 64 << 10;
constexpr std::size_t kEndTextBytes = 400;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// The file to which processes report, in a folder of its own that only this user can enter.
class ReportFile {
 public:
  /// `parent`: a folder that all hosts of a job see, or empty.
  static Result<ReportFile> make(const std::string& parent) {
    auto folder = parent.empty() ? ScratchFolder::make()
                                 // Processes of the job may run in other folders.
                                 : ScratchFolder::make(std::filesystem::absolute(parent));
    if (!folder && !parent.empty())
      return failure(ErrorCode::invalid_argument, "--shared: " + folder.error().message);
    HOCKET_TRY(folder);
    const std::string path = folder->path() + "/reports";
    const FileDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return failure(ErrorCode::unavailable, "cannot make " + path);
    return ReportFile(std::move(*folder), path);
  }

  const std::string& folder() const { return folder_.path(); }
  const std::string& path() const { return path_; }

  LoadReports read() const {
    const auto text = read_regular_file(path_, 2 * kMostLoadReportBytes, Links::refused);
    if (!text) return {.unreadable = 1, .problem = text.error().message};
    return parse_load_reports(*text);
  }

 private:
  ReportFile(ScratchFolder folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}

  ScratchFolder folder_;
  std::string path_;
};

CommandEnd end_of(const ProcessResult& result) {
  CommandEnd end{.was_stopped = result.timed_out || result.ended_early,
                 .has_failed = !result.succeeded(),
                 .text = describe_end(result)};
  const std::string said = last_lines(result.stderr_text, 2, kEndTextBytes);
  if (!said.empty()) end.text += ": " + said;
  return end;
}

struct StartedJob {
  LoadReports reports;
  CommandEnd end;
  bool was_cancelled = false;
};

Result<StartedJob> run(ProcessOptions options, const ReportFile& file, const Clock& clock,
                       const CancelToken& cancel) {
  options.environment[kReportVariable] = file.path();
  options.output_limit_bytes = kOutputBytes;
  const auto result = run_process(options, clock, cancel);
  HOCKET_TRY(result);
  return StartedJob{file.read(), end_of(*result), result->cancelled};
}

/// Runs a process of the doctor's own, in the folder of the file: Python also imports what lies
/// where it is started.
Result<StartedJob> run_probe(ProcessOptions options, const Clock& clock,
                             const CancelToken& cancel) {
  const auto file = ReportFile::make("");
  HOCKET_TRY(file);
  options.working_directory = file->folder();
  return run(std::move(options), *file, clock, cancel);
}

/// Runs the user's job where the user is, until all ranks have reported.
Result<StartedJob> run_job(ProcessOptions options, const std::string& shared_folder,
                           const Clock& clock, const CancelToken& cancel) {
  const auto file = ReportFile::make(shared_folder);
  HOCKET_TRY(file);
  options.watch = [&, host = host_name()](const OutputSoFar&) {
    const auto processes = processes_of(file->read().all);
    return shared_folder.empty() ? have_all_reported(processes, host)
                                 : have_all_reported(processes, std::nullopt);
  };
  return run(std::move(options), *file, clock, cancel);
}

}  // namespace

JobEnvironment job_environment(const std::string& program) {
  JobEnvironment job;
  if (const auto torch = torch_environment({}, program, process_environment)) {
    job.variables = *torch;
    job.has_package = true;
  }
  if (const auto nccl = nccl_environment({}, program, process_environment)) {
    job.variables.insert(nccl->begin(), nccl->end());
    job.has_plugin = true;
  }
  return job;
}

std::vector<DoctorCheck> check_loads(const std::string& program, const std::string& version,
                                     const Clock& clock, const CancelToken& cancel) {
  const JobEnvironment job = job_environment(program);
  const LoadExpectation expected{version, job.has_package, job.has_plugin};
  ProcessOptions options;
  options.argv = {"python3", "-m", "hocket.doctor"};
  options.environment = job.variables;
  options.time_limit_ns = kProbeLimitNs;
  const auto started = run_probe(std::move(options), clock, cancel);
  if (!started) return check_probe({}, {.text = started.error().message}, expected);
  return check_probe(processes_of(started->reports.all), started->end, expected);
}

Result<std::vector<DoctorCheck>> check_job(const JobLaunch& launch, const std::string& program,
                                           const std::string& version, const Clock& clock,
                                           const CancelToken& cancel) {
  const JobEnvironment job = job_environment(program);
  if (!job.has_package && !job.has_plugin) {
    return failure(ErrorCode::not_found,
                   "neither the package for Python nor the plugin for NCCL is beside this program, "
                   "so a job has nothing of hocket to load: pip install hocket");
  }
  ProcessOptions options;
  options.argv = launch.command;
  options.environment = job.variables;
  options.time_limit_ns = launch.limit_ns;
  auto started = run_job(std::move(options), launch.shared_folder, clock, cancel);
  HOCKET_TRY(started);
  if (started->was_cancelled) return failure(ErrorCode::interrupted, "the job was ended");
  LaunchedJob launched{.reports = std::move(started->reports),
                       .end = std::move(started->end),
                       .limit_ns = launch.limit_ns,
                       .shared_folder = launch.shared_folder,
                       .variables = {kReportVariable}};
  for (const auto& [name, value] : job.variables) launched.variables.push_back(name);
  return check_launched_job(launched, {version, job.has_package, job.has_plugin});
}

}  // namespace hocket
