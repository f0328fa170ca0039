#pragma once

// How busy a running job is, iteration by iteration, for what it reports while it runs. Cheap: what
// ran is kept until it was asked about, and no more of it than fits. Windows are those of
// measure_iterations() (profiler/metrics/iterations.h). Thread-safe.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "core/protocol/job_message.h"
#include "core/trace/trace_sink.h"

namespace hocket {

class ActivityMeter final : public TraceSink {
 public:
  /// Keeps at most `capacity` events, and forgets the oldest first.
  explicit ActivityMeter(std::size_t capacity = 1 << 16) : capacity_(capacity) {}

  void record(const TraceEvent& event) override;

  /// The iteration of step `step`, and forgets what ended before the next one began. Ask for steps
  /// in turn, once all events of the step and of the next have been recorded. Nothing when the
  /// step's window is not known, or something in it was forgotten.
  std::optional<JobActivity> take(std::int64_t step);

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
  /// Before this something was forgotten.
  std::int64_t known_from_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace hocket
