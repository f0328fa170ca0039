#pragma once

// Bounded queue of reports to the daemon. Pure; one thread.

#include <cstddef>
#include <deque>
#include <optional>

#include "core/protocol/job_message.h"

namespace hocket {

class ReportQueue {
 public:
  static constexpr std::size_t kMaxReports = 16;
  static constexpr std::size_t kMaxMergedOutcomes = 100;

  /// Appends `report`, or merges it into the last one if both are from the same job and version,
  /// their times together are at most kMaxReportedIterations and their outcomes at most
  /// kMaxMergedOutcomes. A merged report keeps the newer activity. Beyond kMaxReports, drops the
  /// oldest report without news, or else the oldest.
  void add(JobReport report);

  /// Removes and returns the oldest report.
  std::optional<JobReport> take();
  /// Removes and returns the oldest report with news, and removes those before it.
  std::optional<JobReport> take_news();
  /// Returns a report that was taken and could not be sent to the front of the queue.
  void put_back(JobReport report);

  bool empty() const { return reports_.empty(); }
  /// Returns whether a report holds an outcome or the end of the job; it should be sent at once.
  bool has_news() const;

 private:
  void drop_excess();

  std::deque<JobReport> reports_;
};

}  // namespace hocket
