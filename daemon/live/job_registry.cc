#include "daemon/live/job_registry.h"

#include <algorithm>
#include <utility>

#include "core/base/statistics.h"
#include "daemon/live/job_fit.h"

namespace hocket {
namespace {

constexpr std::size_t kLatest = 20;

std::string change_text(const ChangeOutcome& outcome) {
  std::string text = outcome.trial ? "trial " + std::to_string(*outcome.trial)
                                   : "version " + std::to_string(outcome.version.value_or(0));
  text += " " + std::string(to_string(outcome.status));
  return outcome.message.empty() ? text : text + ": " + outcome.message;
}

std::optional<double> median_of(const std::vector<std::int64_t>& times_ns) {
  if (times_ns.empty()) return std::nullopt;
  return median({times_ns.begin(), times_ns.end()});
}

JobChange change_of(const ChangeOutcome& outcome, std::int64_t now_ns) {
  return {.at_ns = now_ns,
          .version = outcome.version,
          .trial = outcome.trial,
          .status = outcome.status,
          .message = outcome.message.substr(0, kJobChangeTextBytes),
          .current_ns = median_of(outcome.current_ns),
          .candidate_ns = median_of(outcome.candidate_ns)};
}

EndedJob ended_job(const RunningJob& job, std::int64_t now_ns, bool was_silent) {
  return {.id = job.description.id,
          .name = job.description.name,
          .host = job.description.host,
          .key = to_string(job.key),
          .ended_at_ns = now_ns,
          .was_silent = was_silent,
          .version = job.version,
          .step = job.step,
          .tried = job.tried,
          .kept = job.kept,
          .iteration_ns = job.iteration_ns,
          .explore = job.description.explore,
          .explored = job.explored,
          .values = job.values,
          .last_change = job.last_change};
}

/// Appends `times_ns` and keeps the last `most` of all.
template <class Times>
void append_latest(Times& latest_ns, const std::vector<std::int64_t>& times_ns, std::size_t most) {
  const std::size_t taken = std::min(times_ns.size(), most);
  latest_ns.insert(latest_ns.end(), times_ns.end() - static_cast<std::ptrdiff_t>(taken),
                   times_ns.end());
  if (latest_ns.size() > most) {
    latest_ns.erase(latest_ns.begin(), latest_ns.end() - static_cast<std::ptrdiff_t>(most));
  }
}

}  // namespace

JobRegistry::Entry* JobRegistry::running(const std::string& id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &jobs_.at(found->second);
}

const JobRegistry::Entry* JobRegistry::running(const std::string& id) const {
  return const_cast<JobRegistry*>(this)->running(id);
}

Result<void> JobRegistry::check_room(const JobDescription& description, const std::string& key,
                                     std::size_t bytes) const {
  const Entry* const known = running(description.id);
  // Registrations that have ended take room, too, until they are removed.
  const bool is_new = !known || to_string(known->job.key) != key;
  const std::size_t others_bytes = bytes_ - (is_new ? 0 : known->bytes);
  const char* full = nullptr;
  if (is_new && jobs_.size() >= limits_.jobs) full = "jobs";
  if (others_bytes + bytes > limits_.job_bytes) full = "bytes of jobs' descriptions";
  if (!by_key_.contains(key) && by_key_.size() >= limits_.job_keys) full = "keys of jobs";
  if (full == nullptr) return {};
  return failure(ErrorCode::unavailable,
                 std::string("there are as many ") + full +
                     " as one daemon keeps; try again when some have ended");
}

Result<JobRegistry::Entered> JobRegistry::enter(const JobDescription& description,
                                                std::int64_t now_ns, std::size_t bytes,
                                                const JobOwner& owner) {
  const ConfigKey key{fingerprint(description.topology), fingerprint(description.workload)};
  const std::string key_text = to_string(key);
  std::lock_guard lock(mutex_);
  Entered entered;
  Entry* known = running(description.id);
  const bool is_anothers = known && known->job.owner.token != owner.token;
  entered.is_anothers = is_anothers && !owner.is_admin;
  if (entered.is_anothers) return entered;
  HOCKET_TRY(check_room(description, key_text, bytes));
  if (known && (known->job.key != key || known->job.owner != owner)) {
    entered.ended = known->job.number;
    end_entry(*known);
    known = nullptr;
  }
  if (!known) {
    const std::uint64_t number = ++arrivals_;
    known = &jobs_[number];
    known->job.number = number;
    known->job.key = key;
    by_id_[description.id] = number;
    known->job.owner = owner;
    KeyJobs& of_key = by_key_[key_text];
    of_key.jobs[number] = &known->job;
    ++of_key.owners[owner.speaks_for()];
  }
  bytes_ = bytes_ - known->bytes + bytes;
  known->bytes = bytes;
  ++revision_;
  known->job.description = description;
  known->job.version = description.version;
  known->job.seen_at_ns = now_ns;
  entered.job = known->job;
  return entered;
}

void JobRegistry::forget_key_of(const RunningJob& job) {
  const auto found = by_key_.find(to_string(job.key));
  auto& [jobs, owners] = found->second;
  jobs.erase(job.number);
  const auto owner = owners.find(job.owner.speaks_for());
  if (--owner->second == 0) owners.erase(owner);
  if (jobs.empty()) by_key_.erase(found);
}

std::optional<std::uint64_t> JobRegistry::report(const JobReport& report, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  Entry* const entry = running(report.job);
  if (!entry) return std::nullopt;
  RunningJob& job = entry->job;
  std::deque<std::int64_t>& latest_ns = entry->latest_ns;
  ++revision_;
  job.seen_at_ns = now_ns;
  job.version = report.version;
  job.step = std::max(job.step, report.step);
  job.explored = report.explored;
  for (const ChangeOutcome& outcome : report.outcomes) {
    if (outcome.trial && !outcome.candidate_ns.empty()) {
      ++job.tried;
      if (outcome.status == ChangeStatus::applied) ++job.kept;
    }
    job.changes.push_back(change_of(outcome, now_ns));
    if (job.changes.size() > kJobChanges) job.changes.erase(job.changes.begin());
  }
  append_latest(job.history_ns, report.iteration_ns, kJobHistory);
  if (!report.outcomes.empty()) {
    job.last_change = change_text(report.outcomes.back());
    // Earlier measurements may belong to another configuration.
    latest_ns.clear();
    job.activity.reset();
  }
  if (report.activity) job.activity = report.activity;
  if (!report.values.empty()) job.values = report.values;
  if (!report.note.empty()) job.note = report.note;
  keep_counted(*entry, report.counted);
  append_latest(latest_ns, report.iteration_ns, kLatest);
  if (!latest_ns.empty()) job.iteration_ns = median({latest_ns.begin(), latest_ns.end()});
  return job.number;
}

void JobRegistry::keep_counted(Entry& entry, const std::vector<CountedSteps>& latest) {
  for (const CountedSteps& counted : latest) {
    entry.counted.push_back(counted);
    entry.counters += counted.ranks.size();
    counters_ += counted.ranks.size();
  }
  while (!entry.counted.empty() &&
         (entry.counted.size() > kJobCountedSteps || entry.counters > kJobCounters ||
          counters_ > limits_.job_counters)) {
    const std::size_t ranks = entry.counted.front().ranks.size();
    entry.counted.pop_front();
    entry.counters -= ranks;
    counters_ -= ranks;
  }
}

std::vector<CountedSteps> JobRegistry::counted(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const Entry* const entry = running(id);
  if (!entry) return {};
  return {entry->counted.begin(), entry->counted.end()};
}

bool JobRegistry::can_change_to(std::uint64_t number, const ScheduleConfig& config) const {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  return found != jobs_.end() && !found->second.job.has_ended &&
         fit_of(found->second.job.description, config).fit == JobFitKind::now;
}

void JobRegistry::runs_with(std::uint64_t number, const ScheduleConfig& config,
                            std::int64_t version) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return;
  ++revision_;
  found->second.job.description.config = config;
  found->second.job.description.version = version;
}

std::optional<JobStream> JobRegistry::stream_opened(const std::string& id, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  Entry* const entry = running(id);
  if (!entry) return std::nullopt;
  ++entry->job.streams;
  ++revision_;
  entry->job.seen_at_ns = now_ns;
  return JobStream{entry->job, entry->has_ended};
}

bool JobRegistry::stream_closed(std::uint64_t number, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return false;
  --found->second.job.streams;
  ++revision_;
  found->second.job.seen_at_ns = now_ns;
  return true;
}

void JobRegistry::end(std::uint64_t number) {
  std::lock_guard lock(mutex_);
  if (const auto found = jobs_.find(number); found != jobs_.end()) end_entry(found->second);
}

void JobRegistry::end_entry(Entry& entry) {
  if (entry.job.has_ended) return;
  ++revision_;
  entry.job.has_ended = true;
  by_id_.erase(entry.job.description.id);
  entry.has_ended->store(true);
}

void JobRegistry::remove(std::uint64_t number, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  if (const auto found = jobs_.find(number); found != jobs_.end()) erase(found, now_ns, false);
}

JobRegistry::Entries::iterator JobRegistry::erase(Entries::iterator at, std::int64_t now_ns,
                                                  bool was_silent) {
  end_entry(at->second);
  ended_.push_back(ended_job(at->second.job, now_ns, was_silent));
  if (ended_.size() > kKeptEndedJobs) ended_.pop_front();
  forget_key_of(at->second.job);
  bytes_ -= at->second.bytes;
  counters_ -= at->second.counters;
  return jobs_.erase(at);
}

std::vector<RunningJob> JobRegistry::remove_silent(std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  std::vector<RunningJob> gone;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const RunningJob& job = at->second.job;
    if (job.is_connected() || now_ns - job.seen_at_ns <= kJobSilenceNs) {
      ++at;
      continue;
    }
    gone.push_back(job);
    at = erase(at, now_ns, true);
  }
  return gone;
}

std::vector<EndedJob> JobRegistry::ended() const {
  std::lock_guard lock(mutex_);
  return {ended_.rbegin(), ended_.rend()};
}

std::uint64_t JobRegistry::revision() const {
  std::lock_guard lock(mutex_);
  return revision_;
}

std::size_t JobRegistry::size() const {
  std::lock_guard lock(mutex_);
  return by_id_.size();
}

std::size_t JobRegistry::registrations() const {
  std::lock_guard lock(mutex_);
  return jobs_.size();
}

std::optional<RunningJob> JobRegistry::find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const Entry* const entry = running(id);
  return entry ? std::optional(entry->job) : std::nullopt;
}

std::optional<RunningJob> JobRegistry::find(std::uint64_t number) const {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? std::nullopt : std::optional(found->second.job);
}

std::optional<JobOwner> JobRegistry::owner_of(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const Entry* const entry = running(id);
  return entry ? std::optional(entry->job.owner) : std::nullopt;
}

std::set<std::string> JobRegistry::owners(const ConfigKey& key) const {
  std::lock_guard lock(mutex_);
  std::set<std::string> owners;
  const auto found = by_key_.find(to_string(key));
  if (found == by_key_.end()) return owners;
  for (const auto& [owner, count] : found->second.owners) owners.insert(owner);
  return owners;
}

std::vector<RunningJob> JobRegistry::list() const {
  std::lock_guard lock(mutex_);
  std::vector<RunningJob> jobs;
  for (const auto& [number, entry] : jobs_) {
    if (!entry.job.has_ended) jobs.push_back(entry.job);
  }
  return jobs;
}

void JobRegistry::for_each(const ConfigKey& key,
                           const std::function<bool(const RunningJob&)>& visit) const {
  std::lock_guard lock(mutex_);
  const auto found = by_key_.find(to_string(key));
  if (found == by_key_.end()) return;
  for (const auto& [number, job] : found->second.jobs) {
    if (!visit(*job)) return;
  }
}

}  // namespace hocket
