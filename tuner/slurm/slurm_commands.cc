#include "tuner/slurm/slurm_commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/text.h"
#include "tuner/slurm/slurm_options.h"
#include "tuner/slurm/task_list.h"
#include "tuner/trial/cancel.h"

namespace hocket {
namespace {

constexpr std::string_view kInstall =
    "is not found; run hocket tune --slurm where Slurm's programs are: on a login node, perhaps "
    "after module load slurm (Debian: apt install slurm-client)";

/// Words in what Slurm's programs say if the controller cannot answer now.
constexpr std::string_view kAway[] = {"contact slurm",     "timed out",         "onnection",
                                      "temporarily",       "Zero Bytes",        "standby mode",
                                      "in a transitional", "Transport endpoint"};

bool is_kept(std::string_view variable) {
  // These say where Slurm is, and who asks.
  return variable == "SLURM_CONF" || variable == "SLURM_CLUSTERS" ||
         variable.starts_with("SLURM_JWT") || variable.starts_with("SLURM_SACK");
}

/// Returns the variables of this process that would change what Slurm's programs do. If hocket
/// itself runs in an allocation, sbatch would hand those of that allocation (its step, its count of
/// restarts) on to the tasks.
std::vector<std::string> misleading_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool misleads = (name.starts_with("SLURM_") && !is_kept(name)) ||
                          name.starts_with("SQUEUE_") || name == "SBATCH_WAIT";
    if (misleads) names.emplace_back(name);
  }
  return names;
}

/// Returns what a program says, in one line without its name in front.
std::string said(const ProcessResult& result) {
  std::string text = last_lines(result.stderr_text, 3, 600);
  if (text.empty()) text = last_lines(result.stdout_text, 3, 600);
  if (const auto at = text.find(": error: "); at != std::string::npos && at < 20)
    text.erase(0, at + 9);
  while (text.ends_with('.')) text.pop_back();
  return text.empty() ? describe_end(result) : text;
}

bool has_any(std::string_view text, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

bool is_unknown_id(const ProcessResult& result) {
  return result.stderr_text.find("Invalid job id") != std::string::npos ||
         result.stderr_text.find("already completing or completed") != std::string::npos;
}

ErrorCode code_of(const ProcessResult& result) {
  return has_any(result.stderr_text, kAway) ? ErrorCode::unavailable : ErrorCode::invalid_argument;
}

/// Returns --export's value, so that the variables are among what it exports.
std::string export_with(const std::string& asked,
                        const std::map<std::string, std::string>& environment) {
  if (asked.empty()) return "ALL";
  if (asked == "ALL" || asked.starts_with("ALL,") || asked.find(",ALL") != std::string::npos)
    return asked;
  std::string names = asked == "NONE" || asked == "NIL" ? "" : asked;
  for (const auto& [name, value] : environment) names += (names.empty() ? "" : ",") + name;
  return names.empty() ? "NONE" : names;
}

/// Returns the job id that sbatch --parsable printed, "12" or "12;cluster"; "" if there is none.
std::string printed_id(std::string_view text) {
  text = trimmed(text);
  // A site's wrapper of sbatch may print lines before.
  if (const auto line = text.rfind('\n'); line != std::string_view::npos)
    text.remove_prefix(line + 1);
  text = trimmed(text.substr(0, text.find(';')));
  const bool is_id = !text.empty() && text.size() < 20 &&
                     text.find_first_not_of("0123456789") == std::string_view::npos;
  return is_id ? std::string(text) : "";
}

/// Makes the folder of the logs, unless its name has patterns.
Result<void> make_log_folder(const std::string& output) {
  const auto folder = std::filesystem::path(output).parent_path();
  if (folder.empty() || folder.string().find('%') != std::string::npos) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return failure(ErrorCode::unavailable, "the folder of the workers' logs, " + folder.string() +
                                               ", cannot be made: " + error.message());
  }
  return {};
}

}  // namespace

std::vector<std::string> sbatch_command(const SlurmSubmission& submission,
                                        const std::string& default_export) {
  std::vector<std::string> command = {"sbatch",
                                      "--job-name=" + submission.job_name,
                                      "--output=" + submission.output,
                                      "--open-mode=append",
                                      "--requeue",
                                      "--signal=B:TERM@30"};
  command.insert(command.end(), submission.options.begin(), submission.options.end());
  std::string asked = slurm_option(submission.options, "export", 0);
  if (asked.empty()) asked = default_export;
  command.push_back("--export=" + export_with(asked, submission.environment));
  command.push_back("--parsable");
  command.push_back("--array=0-" + std::to_string(submission.tasks - 1));
  // sbatch puts #!/bin/sh in front.
  command.push_back("--wrap=export SLURM_EXPORT_ENV=ALL\nexec " + shell_text(submission.command));
  return command;
}

Result<ProcessResult> SlurmCommands::run(
    std::vector<std::string> command, std::int64_t limit_ns,
    const std::map<std::string, std::string>& environment) const {
  const std::string program = command.front();
  ProcessOptions options;
  if (const auto names = misleading_variables(); !names.empty()) {
    options.argv = {"env"};
    for (const std::string& name : names) {
      options.argv.emplace_back("-u");
      options.argv.push_back(name);
    }
  }
  options.argv.insert(options.argv.end(), command.begin(), command.end());
  options.environment = environment;
  options.time_limit_ns = limit_ns;
  // Whoever stops the study still wants its workers cancelled.
  const CancelToken never;
  auto result = run_process(options, clock_, never);
  if (!result && result.error().code != ErrorCode::invalid_argument) return failure(result.error());
  // env ends with 127 if it does not find the program.
  if (!result || result->exit_status == 127)
    return failure(ErrorCode::not_found, program + " " + std::string(kInstall));
  if (result->timed_out) {
    return failure(ErrorCode::timed_out, program + " did not answer within " +
                                             std::to_string(limit_ns / 1'000'000'000) + " s");
  }
  return result;
}

Result<std::string> SlurmCommands::submit(const SlurmSubmission& submission) {
  if (submission.tasks < 1 || submission.command.empty())
    return invalid("an array has at least one task, and a command");
  const std::string output = slurm_option(submission.options, "output", 'o');
  HOCKET_TRY(make_log_folder(output.empty() ? submission.output : output));
  const char* const default_export = std::getenv("SBATCH_EXPORT");
  const auto result =
      run(sbatch_command(submission, default_export == nullptr ? "" : default_export),
          limits_.submit_ns, submission.environment);
  HOCKET_TRY(result);
  if (!result->succeeded()) {
    const ErrorCode code = code_of(*result);
    return failure(code, code == ErrorCode::unavailable
                             ? "sbatch cannot submit the workers now: " + said(*result)
                             : "sbatch refuses the workers: " + said(*result) +
                                   "; correct what --slurm asks for");
  }
  std::string id = printed_id(result->stdout_text);
  if (id.empty()) {
    return failure(ErrorCode::unavailable, "sbatch printed \"" + said(*result) +
                                               "\" in place of a job's number; find the workers "
                                               "with squeue --name " +
                                               submission.job_name + " and cancel them");
  }
  submitted_[id] = submission.tasks;
  return id;
}

Result<std::vector<SlurmTask>> SlurmCommands::tasks(const std::string& job_id) {
  const auto result = run({"squeue", "--jobs=" + job_id, "--array", "--states=all", "--noheader",
                           "--Format=" + std::string(kSqueueFormat)},
                          limits_.ask_ns);
  HOCKET_TRY(result);
  if (!result->succeeded() && !is_unknown_id(*result))
    return failure(ErrorCode::unavailable, "squeue cannot list the workers: " + said(*result));
  const auto submitted = submitted_.find(job_id);
  if (!result->succeeded() && submitted == submitted_.end())
    return failure(ErrorCode::not_found, "Slurm does not know a job " + job_id);
  auto tasks = tasks_from_squeue(result->succeeded() ? result->stdout_text : "");
  HOCKET_TRY(tasks);
  if (submitted == submitted_.end()) return tasks;
  std::set<int> missing;
  for (int index = 0; index < submitted->second; ++index) missing.insert(index);
  for (const SlurmTask& task : *tasks) missing.erase(task.index);
  if (missing.empty()) return tasks;
  for (SlurmTask& task : forgotten(job_id, missing)) tasks->push_back(std::move(task));
  return tasks;
}

std::vector<SlurmTask> SlurmCommands::forgotten(const std::string& job_id,
                                                const std::set<int>& missing) {
  auto& known = forgotten_[job_id];
  const bool has_all =
      std::all_of(missing.begin(), missing.end(), [&](int index) { return known.contains(index); });
  if (!has_all) {
    const auto result = run({"sacct", "--jobs=" + job_id, "--allocations", "--noheader",
                             "--parsable2", "--format=" + std::string(kSacctFormat)},
                            limits_.ask_ns);
    // Without accounting, which many sites do not have, there is no such knowledge.
    const auto listed = result && result->succeeded() ? tasks_from_sacct(result->stdout_text)
                                                      : Result<std::vector<SlurmTask>>();
    if (listed) {
      for (const SlurmTask& task : *listed)
        if (missing.contains(task.index) && has_ended(task.state)) known.emplace(task.index, task);
    }
  }
  std::vector<SlurmTask> tasks;
  for (const int index : missing) {
    SlurmTask unknown;
    unknown.index = index;
    unknown.state = SlurmState::gone;
    unknown.job_id = job_id;
    tasks.push_back(known.emplace(index, unknown).first->second);
  }
  return tasks;
}

Result<void> SlurmCommands::cancel(const std::string& job_id) {
  const auto result = run({"scancel", job_id}, limits_.ask_ns);
  HOCKET_TRY(result);
  if (result->succeeded() || is_unknown_id(*result)) return {};
  return failure(code_of(*result), "scancel cannot end job " + job_id + ": " + said(*result));
}

}  // namespace hocket
