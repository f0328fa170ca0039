#include "tuner/slurm/allocation.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "core/base/text.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/process.h"

namespace hocket {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
/// About thirty years: a longer limit is none.
constexpr std::int64_t kLongestS = 1'000'000'000;

std::optional<std::int64_t> count_in(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 0) return std::nullopt;
  return count;
}

bool is_job_id(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::string slurm_worker_name(const std::string& array_job_id, int index, int restarts) {
  return "slurm-" + array_job_id + "_" + std::to_string(index) +
         (restarts > 0 ? "." + std::to_string(restarts) : "");
}

std::optional<std::string> slurm_worker_name(const SlurmEnvironment& environment) {
  const auto job = environment("SLURM_JOB_ID");
  // Slurm sets ENVIRONMENT for batch scripts alone, but their steps inherit it.
  if (!job || !is_job_id(*job) || environment("SLURM_STEP_ID") ||
      environment("ENVIRONMENT") != "BATCH") {
    return std::nullopt;
  }
  const auto restarts = count_in(environment("SLURM_RESTART_COUNT").value_or(""));
  const int restarted = static_cast<int>(std::min<std::int64_t>(restarts.value_or(0), 1'000'000));
  const auto array = environment("SLURM_ARRAY_JOB_ID");
  const auto index = count_in(environment("SLURM_ARRAY_TASK_ID").value_or(""));
  if (array && is_job_id(*array) && index && *index <= 1'000'000'000)
    return slurm_worker_name(*array, static_cast<int>(*index), restarted);
  return "slurm-" + *job + (restarted > 0 ? "." + std::to_string(restarted) : "");
}

std::optional<std::int64_t> slurm_duration_ns(std::string_view text) {
  text = trimmed(text);
  std::int64_t seconds = 0;
  const auto dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto days = count_in(text.substr(0, dash));
    if (!days || *days > kLongestS / 86'400) return std::nullopt;
    seconds = *days * 24;
    text.remove_prefix(dash + 1);
  }
  std::size_t parts = 0;
  for (bool more = true; more; ++parts) {
    const auto colon = text.find(':');
    const auto part = count_in(text.substr(0, colon));
    if (!part || *part > kLongestS || parts == 3) return std::nullopt;
    seconds = (parts == 0 ? seconds : seconds * 60) + *part;
    more = colon != std::string_view::npos;
    if (more) text.remove_prefix(colon + 1);
  }
  // squeue always prints minutes, and hours if there are days.
  if (parts < 2 || (dash != std::string_view::npos && parts != 3)) return std::nullopt;
  if (seconds > kLongestS) return std::nullopt;
  return seconds * kSecondNs;
}

std::optional<std::int64_t> slurm_time_left_ns(const SlurmEnvironment& environment,
                                               std::int64_t unix_time_ns, const Clock& clock) {
  const auto job = environment("SLURM_JOB_ID");
  if (!job || !is_job_id(*job)) return std::nullopt;
  if (const auto end = environment("SLURM_JOB_END_TIME")) {
    const auto end_s = count_in(*end);
    if (end_s && *end_s < 9'000'000'000)
      return std::max<std::int64_t>(0, *end_s * kSecondNs - unix_time_ns);
  }
  // The number of an array is also that of one of its tasks, and would stand for all of them.
  const auto array = environment("SLURM_ARRAY_JOB_ID"), index = environment("SLURM_ARRAY_TASK_ID");
  const std::string asked =
      array && index && is_job_id(*array) && is_job_id(*index) ? *array + "_" + *index : *job;
  ProcessOptions options;
  options.argv = {"squeue", "--noheader", "--states=all", "--jobs=" + asked, "--format=%L"};
  options.time_limit_ns = 30 * kSecondNs;
  const CancelToken never;
  const auto result = run_process(options, clock, never);
  if (!result || !result->succeeded()) return std::nullopt;
  return slurm_duration_ns(result->stdout_text);
}

}  // namespace hocket
