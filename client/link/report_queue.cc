#include "client/link/report_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hocket {
namespace {

std::size_t times(const JobReport& report) {
  std::size_t sum = report.iteration_ns.size();
  for (const auto& outcome : report.outcomes)
    sum += outcome.current_ns.size() + outcome.candidate_ns.size();
  return sum;
}

bool may_merge(const JobReport& earlier, const JobReport& later) {
  return earlier.job == later.job && earlier.version == later.version &&
         times(earlier) + times(later) <= kMaxReportedIterations &&
         earlier.outcomes.size() + later.outcomes.size() <= ReportQueue::kMaxMergedOutcomes;
}

void merge(JobReport& earlier, JobReport later) {
  earlier.step = later.step;
  earlier.explored = later.explored;
  earlier.ended = later.ended;
  if (later.activity) earlier.activity = std::move(later.activity);
  for (const auto& [name, value] : later.values) earlier.values[name] = value;
  if (!later.note.empty()) earlier.note = std::move(later.note);
  append_counted(earlier.counted, std::move(later.counted));
  std::ranges::copy(later.iteration_ns, std::back_inserter(earlier.iteration_ns));
  std::ranges::move(later.outcomes, std::back_inserter(earlier.outcomes));
}

bool is_news(const JobReport& report) {
  return !report.outcomes.empty() || report.ended;
}

}  // namespace

void ReportQueue::add(JobReport report) {
  if (!reports_.empty() && may_merge(reports_.back(), report)) {
    merge(reports_.back(), std::move(report));
  } else {
    reports_.push_back(std::move(report));
    drop_excess();
  }
}

std::optional<JobReport> ReportQueue::take() {
  if (reports_.empty()) return std::nullopt;
  JobReport report = std::move(reports_.front());
  reports_.pop_front();
  return report;
}

std::optional<JobReport> ReportQueue::take_news() {
  while (auto report = take()) {
    if (is_news(*report)) return report;
  }
  return std::nullopt;
}

void ReportQueue::put_back(JobReport report) {
  reports_.push_front(std::move(report));
  drop_excess();
}

bool ReportQueue::has_news() const {
  return std::ranges::any_of(reports_, is_news);
}

void ReportQueue::drop_excess() {
  if (reports_.size() <= kMaxReports) return;
  const auto plain = std::ranges::find_if_not(reports_, is_news);
  reports_.erase(plain == reports_.end() ? reports_.begin() : plain);
}

}  // namespace hocket
