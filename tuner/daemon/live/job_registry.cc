#include "tuner/daemon/live/job_registry.h"

#include <algorithm>

#include "core/base/statistics.h"

namespace hocket {
namespace {

constexpr std::size_t kLatest = 20;

std::string change_text(const ChangeOutcome& outcome) {
  std::string text = outcome.trial ? "trial " + std::to_string(*outcome.trial)
                                   : "version " + std::to_string(outcome.version.value_or(0));
  text += " " + std::string(to_string(outcome.status));
  return outcome.message.empty() ? text : text + ": " + outcome.message;
}

}  // namespace

Result<RunningJob> JobRegistry::enter(const JobDescription& description, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  const auto known = jobs_.find(description.id);
  if (known == jobs_.end() && jobs_.size() >= kMaxJobs) {
    return failure(ErrorCode::unavailable, "there are " + std::to_string(kMaxJobs) +
                                               " jobs, which is as many as one daemon keeps");
  }
  RunningJob& job = jobs_[description.id].job;
  if (known == jobs_.end()) {
    job.number = ++arrivals_;
  } else {
    forget_key_of(job);
  }
  job.description = description;
  job.key = {fingerprint(description.topology), fingerprint(description.workload)};
  by_key_[to_string(job.key)][job.number] = &job;
  job.version = description.version;
  job.seen_at_ns = now_ns;
  return job;
}

void JobRegistry::forget_key_of(const RunningJob& job) {
  const auto found = by_key_.find(to_string(job.key));
  found->second.erase(job.number);
  if (found->second.empty()) by_key_.erase(found);
}

bool JobRegistry::report(const JobReport& report, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(report.job);
  if (found == jobs_.end()) return false;
  auto& [job, latest_ns] = found->second;
  job.seen_at_ns = now_ns;
  job.version = report.version;
  job.step = std::max(job.step, report.step);
  job.explored = report.explored;
  if (!report.outcomes.empty()) {
    job.last_change = change_text(report.outcomes.back());
    // Earlier measurements may belong to another configuration.
    latest_ns.clear();
    job.activity.reset();
  }
  if (report.activity) job.activity = report.activity;
  latest_ns.insert(latest_ns.end(), report.iteration_ns.begin(), report.iteration_ns.end());
  while (latest_ns.size() > kLatest) latest_ns.pop_front();
  if (!latest_ns.empty()) job.iteration_ns = median({latest_ns.begin(), latest_ns.end()});
  return true;
}

void JobRegistry::runs_with(const std::string& id, const ScheduleConfig& config,
                            std::int64_t version) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  found->second.job.description.config = config;
  found->second.job.description.version = version;
}

bool JobRegistry::stream_opened(const std::string& id, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  ++found->second.job.streams;
  found->second.job.seen_at_ns = now_ns;
  return true;
}

bool JobRegistry::stream_closed(const std::string& id, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return false;
  --found->second.job.streams;
  found->second.job.seen_at_ns = now_ns;
  return true;
}

void JobRegistry::remove(const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  forget_key_of(found->second.job);
  jobs_.erase(found);
}

std::vector<RunningJob> JobRegistry::remove_silent(std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  std::vector<RunningJob> gone;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const RunningJob& job = at->second.job;
    if (job.streams > 0 || now_ns - job.seen_at_ns <= kJobSilenceNs) {
      ++at;
      continue;
    }
    gone.push_back(job);
    forget_key_of(job);
    at = jobs_.erase(at);
  }
  return gone;
}

std::optional<RunningJob> JobRegistry::find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return std::nullopt;
  return found->second.job;
}

std::vector<RunningJob> JobRegistry::list() const {
  std::vector<RunningJob> jobs;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : jobs_) jobs.push_back(entry.job);
  }
  std::ranges::sort(jobs, {}, &RunningJob::number);
  return jobs;
}

void JobRegistry::for_each(const ConfigKey& key,
                           const std::function<bool(const RunningJob&)>& visit) const {
  std::lock_guard lock(mutex_);
  const auto found = by_key_.find(to_string(key));
  if (found == by_key_.end()) return;
  for (const auto& [number, job] : found->second) {
    if (!visit(*job)) return;
  }
}

}  // namespace hocket
