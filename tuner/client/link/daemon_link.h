#pragma once

// The seam between a running job and the daemon, for rank 0. No call blocks, fails or throws: what
// the network does is told to nobody but a warning sink. Thread-safe.

#include <cstdint>
#include <optional>

#include "core/protocol/job_message.h"

namespace hocket {

class DaemonLink {
 public:
  virtual ~DaemonLink() = default;

  /// What has arrived and was not taken yet: the newest of each type, a configuration first, then
  /// a request for a profile, which is given once.
  virtual std::optional<DaemonMessage> take() = 0;

  /// Queues a report. While the daemon is away, the oldest iterations are dropped once the queue is
  /// full, outcomes last.
  virtual void report(JobReport report) = 0;

  /// What the job runs with from now on, for when it has to register again.
  virtual void update(const ScheduleConfig& config, std::int64_t version) = 0;
};

}  // namespace hocket
