#pragma once

// Reports on their way to the daemon, in bounded memory. Pure; one thread.

#include <cstddef>
#include <deque>
#include <optional>

#include "core/protocol/job_message.h"

namespace hocket {

class ReportQueue {
 public:
  static constexpr std::size_t kMaxReports = 16;
  static constexpr std::size_t kMaxMergedOutcomes = 100;

  /// Joins `report` with the last one where both are of one job and version, the times in both
  /// together are at most kMaxReportedIterations, and the outcomes at most kMaxMergedOutcomes; the
  /// newest activity stays. When
  /// there are more than kMaxReports the oldest without news goes, or else the oldest.
  void add(JobReport report);

  /// The oldest one, which leaves the queue.
  std::optional<JobReport> take();
  /// Gives back what was taken last and could not be sent.
  void put_back(JobReport report);

  bool empty() const { return reports_.empty(); }
  /// An outcome or the end of the job: worth sending at once.
  bool has_news() const;

 private:
  void drop_excess();

  std::deque<JobReport> reports_;
};

}  // namespace hocket
