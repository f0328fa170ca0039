#pragma once

// Makes a profile of what a CommunicationSchedule recorded
// (core/scheduler/communication_schedule.h): the trace of a rank, and the structure of its step.
// The framework's computations follow one another on one stream, so each depends on the one before;
// that which makes a tensor ready writes it, its communication updates it, and that which waited
// for it reads it.

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/scheduler/communication_schedule.h"
#include "core/trace/rank_trace.h"
#include "core/trace/trace_sink.h"
#include "profiler/calibration/step_structure.h"

namespace hocket {

/// Keeps the events of some steps. While it is off, an event costs a lock. Thread-safe.
class CommunicationRecorder final : public TraceSink {
 public:
  /// Keeps at most `capacity` events; further ones are counted.
  explicit CommunicationRecorder(std::size_t capacity = 1 << 20) : capacity_(capacity) {}

  /// Drops what is there and keeps the events of `steps` steps from `first_step` on.
  void start(std::int64_t first_step, std::int64_t steps);
  void record(const TraceEvent& event) override;
  /// Returns the events so far and stops.
  std::vector<TraceEvent> take(std::int64_t& dropped);

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::vector<TraceEvent> events_;
  std::int64_t first_step_ = 0, end_step_ = 0, dropped_ = 0;
};

struct CommunicationProfile {
  RankTrace trace;
  StepStructure structure;
};

/// Makes the profile of `events`. The structure is that of the set of tensors that most steps
/// communicate; records of steps with another one have no task. Tensors are numbered as in the
/// schedule. `trace` has the rank, ranks, host and clock samples. Returns invalid_argument when no
/// step has ended.
Result<CommunicationProfile> communication_profile(std::span<const TraceEvent> events,
                                                   std::span<const ScheduledTensor> tensors,
                                                   RankTrace trace);

}  // namespace hocket
