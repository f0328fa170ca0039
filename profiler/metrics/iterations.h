#pragma once

// Measures iterations from a run's events. An iteration is the time from the start of a step's
// first task to the start of the next step's first task: with the barrier between steps crossed,
// work of two steps overlaps, and this period is what training costs.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/protocol/job_report.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// Collects a run's events. Thread-safe.
class TraceRecorder final : public TraceSink {
 public:
  void record(const TraceEvent& event) override;

  /// Returns all events so far, in the order in which they ended.
  std::vector<TraceEvent> events() const;

  /// Returns the begin of the earliest task of `step` among those that have ended; nothing if none
  /// has.
  std::optional<std::int64_t> step_start_ns(std::int64_t step) const;

 private:
  mutable std::mutex mutex_;
  std::vector<TraceEvent> events_;
  std::map<std::int64_t, std::int64_t> step_starts_ns_;
};

/// Returns the iterations in `events`, in order, without the first `warmup` and without the last
/// step, whose end is unknown. Each window is measured as the union of compute intervals, the union
/// of communication intervals, and the part of the latter outside the former (exposed
/// communication; Holistic Trace Analysis calls the rest overlap). Steps that ran as a whole
/// (kWholeStep of core/trace/task_marker.h) have only a time.
std::vector<Iteration> measure_iterations(const std::vector<TraceEvent>& events,
                                          std::int64_t warmup);

}  // namespace hocket
