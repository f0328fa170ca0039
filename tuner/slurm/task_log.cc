#include "tuner/slurm/task_log.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/files/file_stream.h"
#include "core/files/regular_file.h"
#include "tuner/slurm/slurm_options.h"

namespace hocket {
namespace {

constexpr std::streamoff kLogEndBytes = 4096;
/// Most digits of a number in a path, as sbatch allows.
constexpr std::size_t kMostDigits = 10;

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

/// Returns what a pattern's letter stands for; nothing if this host does not know.
std::optional<std::string> replacement(char letter, const std::string& array_job_id,
                                       const SlurmTask& task, const std::string& job_name) {
  switch (letter) {
    case 'A':
      return array_job_id;
    case 'a':
      return std::to_string(task.index);
    case 'j':
    case 'J':
      if (task.job_id.empty()) return std::nullopt;
      return task.job_id;
    case 'x':
      return job_name;
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> slurm_log_path(const SlurmSubmission& submission,
                                          const std::string& array_job_id, const SlurmTask& task) {
  std::string pattern = slurm_option(submission.options, "output", 'o');
  if (pattern.empty()) pattern = submission.output;
  std::string name = slurm_option(submission.options, "job-name", 'J');
  if (name.empty()) name = submission.job_name;
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    std::size_t width = 0;
    for (++i; i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9'; ++i)
      width = std::min(kMostDigits, width * 10 + static_cast<std::size_t>(pattern[i] - '0'));
    if (i >= pattern.size()) return std::nullopt;
    auto text = replacement(pattern[i], array_job_id, task, name);
    if (!text) return std::nullopt;
    path += padded(std::move(*text), width);
  }
  if (path.empty()) return std::nullopt;
  const std::string folder = slurm_option(submission.options, "chdir", 'D');
  return (std::filesystem::path(folder) / path).string();
}

std::string slurm_log_end(const std::string& path) {
  auto opened = open_regular_file(path);
  if (!opened) return "";
  FileReader file(std::move(*opened));
  const std::streamoff size = file.seekg(0, std::ios::end).tellg();
  if (!file || size <= 0) return "";
  const std::streamoff length = std::min(size, kLogEndBytes);
  file.seekg(size - length);
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(text.data(), length);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string_view slurm_cause(std::string_view log) {
  // "slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-27T02:12:43 DUE TO PREEMPTION ***"
  constexpr std::string_view kMark = " DUE TO ";
  constexpr std::pair<std::string_view, std::string_view> kCauses[] = {
      {"PREEMPTION", "was preempted"},
      {"JOB REQUEUE", "was requeued"},
      {"NODE FAILURE", "lost its node"},
      {"TIME LIMIT", "ran out of time"}};
  const auto at = log.rfind(kMark);
  if (at == std::string_view::npos) return "";
  const auto line = log.rfind('\n', at);
  const auto begin = line == std::string_view::npos ? 0 : line + 1;
  if (log.substr(begin, at - begin).find("*** JOB ") == std::string_view::npos) return "";
  const std::string_view cause = log.substr(at + kMark.size());
  for (const auto& [word, text] : kCauses)
    if (cause.starts_with(word)) return text;
  return "";
}

}  // namespace hocket
