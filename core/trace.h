#pragma once

// What ran, when and where: executors write it, a profiler reads it.

#include <cstdint>
#include <string_view>

#include "core/task.h"

namespace hocket {

enum class TraceKind : std::uint8_t {
  compute,        ///< a task's body, on a compute stream
  communication,  ///< one part of a collective, on a channel
};

/// One closed interval of work. Times are of the executor's clock.
struct TraceEvent {
  TraceKind kind = TraceKind::compute;
  /// The stream (compute) or channel (communication), from 0.
  std::int32_t lane = 0;
  /// The task's name; valid as long as the submitter's string.
  std::string_view name;
  /// The step (iteration) that submitted the task, from 0.
  std::int64_t step = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  /// Bytes of the part; 0 for compute.
  std::int64_t bytes = 0;
  /// Which task it was, or whose part.
  TaskId task = {};
};

/// Receives events as they end, from any thread, at most one call a lane at a time.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const TraceEvent& event) = 0;
};

}  // namespace hocket
