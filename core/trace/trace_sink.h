#pragma once

// Timed records of executed work: executors write them, a profiler reads them.

#include <cstdint>
#include <string_view>

#include "core/step/collective_group.h"
#include "core/step/collective_kind.h"
#include "core/step/task.h"

namespace hocket {

struct StepDescription;

enum class TraceKind : std::uint8_t {
  /// A task's body or a kernel, on a compute stream.
  compute,
  /// One part of a collective, on a channel.
  communication,
  /// A copy or fill of memory that is not communication.
  copy,
  /// A named interval of a host thread, marked by the job (NVTX).
  range,
  /// A host thread's call of the runtime, such as a launch.
  call,
};

inline constexpr std::int64_t kNoSequence = -1;

/// One closed interval of work. Times are from the executor's clock.
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
  /// The task, or the task that the part belongs to; kWholeStep (core/trace/task_marker.h) if a
  /// whole step ran as one, or if only its begin is known.
  TaskId task = {};
  /// Number of a communication: the same on all of its ranks, and unique in a trace among these.
  std::int64_t sequence = kNoSequence;
  /// Kind and group of a communication.
  CollectiveKind collective = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
};

/// The times of a step that a sink wants; each value includes the ones before it.
enum class TraceDetail : std::uint8_t {
  /// The begins of steps.
  steps,
  /// The tasks that ran, for a sink that has their times from elsewhere: a task of a stream has no
  /// length, and the time at which the executor saw that it had run. Others have their times.
  order,
  /// The times of each task and each part.
  tasks,
};

/// Receives events as they end, from any thread; calls for one lane do not overlap.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void record(const TraceEvent& event) = 0;

  /// Returns what the sink wants of a step. An executor whose times cost something asks when it
  /// issues a task. Where times of tasks are not wanted it records one event of the step, named
  /// "step", of kWholeStep, without length, at the begin of the first task it issued; with
  /// TraceDetail::steps instead of the tasks. Other executors time every task. The answer may
  /// change at any time; a step may therefore have both kinds of events. Any thread; must not take
  /// long.
  virtual TraceDetail detail(std::int64_t step) const {
    static_cast<void>(step);
    return TraceDetail::tasks;
  }

  /// Reports that the steps from here on are `step`, as the job submits it, placed on a device of
  /// limited memory and its host (core/placement/step_placement.h): their tasks without the copies
  /// are its tasks, in order. `step` has no times. Called by the submitter's thread, while nothing
  /// runs.
  virtual void placed(const StepDescription& step) { static_cast<void>(step); }
};

}  // namespace hocket
