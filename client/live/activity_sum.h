#pragma once

// Aggregates the activity of iterations for one report: the median exposed communication time, and
// the busy share of each lane over all iterations. Pure; one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/protocol/job_message.h"

namespace hocket {

class ActivitySum {
 public:
  /// Adds an iteration that took `wall_ns`. Ignores iterations beyond kMaxReportedIterations and
  /// lanes beyond kMaxReportedLanes.
  void add(const JobActivity& activity, std::int64_t wall_ns);

  /// Returns the activity of the iterations added since the last call and clears it; empty if there
  /// were none.
  std::optional<JobActivity> take();

  void clear() { *this = {}; }

 private:
  std::vector<double> exposed_ns_;
  std::map<std::pair<TraceKind, std::int64_t>, double> busy_ns_;
  double wall_ns_ = 0;
};

}  // namespace hocket
