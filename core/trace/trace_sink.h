#pragma once

// What ran, when and where: executors write it, a profiler reads it.

#include <cstdint>
#include <string_view>

#include "core/step/collective_kind.h"
#include "core/step/task.h"

namespace hocket {

enum class TraceKind : std::uint8_t {
  compute,        ///< a task's body or a kernel, on a compute stream
  communication,  ///< one part of a collective, on a channel
  copy,           ///< a copy or fill of memory that is no communication
  range,          ///< a stretch of a host thread that the job has named (NVTX)
  call,           ///< a host thread's call of the runtime, such as a launch
};

inline constexpr std::int64_t kNoSequence = -1;

/// One closed interval of work. Times are of the executor's clock.
struct TraceEvent {
  TraceKind kind = TraceKind::compute;
  /// The stream (compute, copy), channel (communication) or host thread (range, call), from 0.
  std::int32_t lane = 0;
  /// The task's name; valid as long as the submitter's string.
  std::string_view name;
  /// The step (iteration) that submitted the task, from 0.
  std::int64_t step = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  /// Bytes of the part; 0 for compute.
  std::int64_t bytes = 0;
  /// Which task it was, or whose part; kWholeStep (core/trace/task_marker.h) where a whole step ran
  /// as one.
  TaskId task = {};
  /// Of communication: the same number on all ranks means the same part; it comes once in a trace.
  std::int64_t sequence = kNoSequence;
  /// Of communication.
  CollectiveKind collective = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
};

/// Receives events as they end, from any thread, at most one call a lane at a time.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const TraceEvent& event) = 0;
};

}  // namespace hocket
