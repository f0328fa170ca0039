#pragma once

// Measures how busy a running job's lanes are in each iteration, for the reports it sends while it
// trains. Memory is bounded: events are kept until take() has used them, and at most `capacity` of
// them. Windows are those of measure_iterations() (profiler/metrics/iterations.h). Thread-safe.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "core/protocol/job_message.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// The activity of one iteration.
struct IterationActivity : JobActivity {
  /// Time in which at least one task computed.
  std::int64_t computed_ns = 0;
};

class ActivityMeter final : public TraceSink {
 public:
  /// Keeps at most `capacity` events and drops the oldest first.
  explicit ActivityMeter(std::size_t capacity = 1 << 16) : capacity_(capacity) {}

  void record(const TraceEvent& event) override;

  /// Returns the activity of step `step`'s iteration and drops events that end before the next step
  /// begins. Requires that steps are asked for in increasing order, once all events of the step and
  /// of the next one are recorded. Returns nothing if the step's window is unknown, an event in
  /// it was dropped, or tasks that may have run in it were not timed (TraceDetail::steps).
  std::optional<IterationActivity> take(std::int64_t step);

 private:
  struct Busy {
    TraceKind kind;
    std::int64_t lane;
    std::int64_t begin_ns, end_ns;
  };
  void forget_oldest();

  const std::size_t capacity_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<Busy> events_;
  std::map<std::int64_t, std::int64_t> step_starts_ns_;
  std::set<std::int64_t> untimed_steps_;
  /// Events that end after this time are all kept.
  std::int64_t known_from_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace hocket
