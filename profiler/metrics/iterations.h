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
/// communication; Holistic Trace Analysis calls the rest overlap). An iteration has only a time if
/// its step or the one before, whose tasks may run in its window, ran as a whole or told only its
/// begin (kWholeStep of core/trace/task_marker.h).
std::vector<Iteration> measure_iterations(const std::vector<TraceEvent>& events,
                                          std::int64_t warmup);

/// Returns how much of `step` a run should trace where times of tasks cost something: the tasks of
/// the first steps after `warmup`, and of two steps in each kSampledEvery, so that some iterations
/// have all their times and most cost nothing. Pure.
TraceDetail sampled_detail(std::int64_t step, std::int64_t warmup);
inline constexpr std::int64_t kSampledEvery = 64;

}  // namespace hocket
