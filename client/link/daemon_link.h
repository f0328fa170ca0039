#pragma once

// Interface between a running job and the daemon, for rank 0. No call blocks, fails or throws;
// network problems are reported only to a warning callback. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "core/protocol/job_message.h"

namespace hocket {

/// The daemon's part in the job at present.
struct DaemonStanding {
  enum class State {
    asked,  ///< it has not answered yet
    away,   ///< it cannot be reached or refuses the job, and is asked again
    knows   ///< it knows the job
  };
  State state = State::asked;
  std::string why = {};  ///< of State::away, for people; contains the daemon's own words
};

class DaemonLink {
 public:
  virtual ~DaemonLink() = default;

  virtual DaemonStanding standing() const = 0;

  /// Returns the next message that has arrived and was not taken yet, or nothing. Only the newest
  /// message of each type is kept. The order is configuration, request for a profile, candidate; a
  /// request for a profile is returned only once.
  virtual std::optional<DaemonMessage> take() = 0;

  /// Queues a report. While the daemon is unreachable and the queue is full, the oldest iterations
  /// are dropped first, outcomes last.
  virtual void report(JobReport report) = 0;

  /// Sets the configuration the job uses from now on; it is sent when the job has to register
  /// again.
  virtual void update(const ScheduleConfig& config, std::int64_t version) = 0;
};

}  // namespace hocket
