#pragma once

// The activity of a report out of that of its iterations: the median of the exposed time, and each
// lane's busy share over all of them. Pure; one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/protocol/job_message.h"

namespace hocket {

class ActivitySum {
 public:
  /// An iteration of `wall_ns`. After kMaxReportedIterations, and lanes after kMaxReportedLanes, no
  /// more are counted.
  void add(const JobActivity& activity, std::int64_t wall_ns);

  /// Of what was added since the last call; nothing without any.
  std::optional<JobActivity> take();

  void clear() { *this = {}; }

 private:
  std::vector<double> exposed_ns_;
  std::map<std::pair<TraceKind, std::int64_t>, double> busy_ns_;
  double wall_ns_ = 0;
};

}  // namespace hocket
