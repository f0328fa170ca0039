#include "daemon/live/live_events.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace hocket {
namespace {

/// Returns about how much memory a report takes.
std::size_t bytes_of(const JobReport& report) {
  constexpr std::size_t kFixedBytes = 500;
  std::size_t bytes = kFixedBytes + report.iteration_ns.size() * sizeof(std::int64_t);
  for (const ChangeOutcome& outcome : report.outcomes) {
    bytes += sizeof outcome + outcome.message.size() +
             (outcome.current_ns.size() + outcome.candidate_ns.size()) * sizeof(std::int64_t);
  }
  if (report.activity) bytes += report.activity->lanes.size() * sizeof(LaneActivity);
  return bytes;
}

template <class T>
void append(std::vector<T>& target, std::vector<T>& source) {
  target.insert(target.end(), std::make_move_iterator(source.begin()),
                std::make_move_iterator(source.end()));
}

tl::unexpected<Error> is_full(const char* what) {
  return failure(ErrorCode::unavailable,
                 std::string("live tuning is behind with ") + what +
                     ", probably because its store is locked or slow; try again");
}

}  // namespace

void append_report(JobReport& report, JobReport later, std::size_t most_iterations) {
  report.version = later.version;
  report.step = std::max(report.step, later.step);
  report.explored = later.explored;
  report.ended = report.ended || later.ended;
  if (later.activity) report.activity = std::move(later.activity);
  for (auto& [name, value] : later.values) report.values[name] = value;
  if (!later.note.empty()) report.note = std::move(later.note);
  if (!later.outcomes.empty()) report.iteration_ns.clear();
  append(report.iteration_ns, later.iteration_ns);
  append(report.outcomes, later.outcomes);
  if (report.iteration_ns.size() > most_iterations) {
    report.iteration_ns.erase(
        report.iteration_ns.begin(),
        report.iteration_ns.end() - static_cast<std::ptrdiff_t>(most_iterations));
  }
}

void LiveEvents::push(Entry entry) {
  entries_.push_back(std::move(entry));
  happened_.notify_one();
}

void LiveEvents::tick() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_tick_, true)) push(Tick{});
}

Result<void> LiveEvents::job_changed(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (changed_jobs_.contains(number)) return {};
  if (changed_jobs_.size() >= limits_.jobs) return is_full("jobs that came and went");
  changed_jobs_.insert(number);
  push(JobChanged{number});
  return {};
}

Result<void> LiveEvents::key_changed(const ConfigKey& key) {
  std::string text = to_string(key);
  const std::lock_guard lock(mutex_);
  if (changed_keys_.contains(text)) return {};
  if (changed_keys_.size() >= limits_.pending_keys) return is_full("keys that changed");
  changed_keys_.insert(std::move(text));
  push(KeyChanged{key});
  return {};
}

Result<void> LiveEvents::reported(std::uint64_t number, JobReport report) {
  const std::size_t bytes = bytes_of(report);
  const std::lock_guard lock(mutex_);
  if (report_bytes_ + bytes > limits_.pending_report_bytes) return is_full("reports");
  const auto found = reports_.find(number);
  if (found == reports_.end()) {
    push(Reported{number});
    reports_.emplace(number, std::move(report));
    report_bytes_ += bytes;
    return {};
  }
  report_bytes_ -= bytes_of(found->second);
  append_report(found->second, std::move(report), limits_.pending_iterations);
  report_bytes_ += bytes_of(found->second);
  return {};
}

bool LiveEvents::has_report_of(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return reports_.contains(number);
}

std::optional<LiveEvent> LiveEvents::take() {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return std::nullopt;
  const Entry entry = std::move(entries_.front());
  entries_.pop_front();
  if (const auto* job = std::get_if<JobChanged>(&entry)) {
    changed_jobs_.erase(job->number);
    return *job;
  }
  if (const auto* key = std::get_if<KeyChanged>(&entry)) {
    changed_keys_.erase(to_string(key->key));
    return *key;
  }
  if (const auto* reported = std::get_if<Reported>(&entry)) {
    auto report = reports_.extract(reported->number);
    report_bytes_ -= bytes_of(report.mapped());
    return JobReported{reported->number, std::move(report.mapped())};
  }
  has_tick_ = false;
  return Tick{};
}

void LiveEvents::wait_until(const std::stop_token& stop,
                            std::chrono::steady_clock::time_point time) {
  std::unique_lock lock(mutex_);
  happened_.wait_until(lock, stop, time, [this] { return !entries_.empty(); });
}

std::size_t LiveEvents::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace hocket
