#pragma once

// Streams into which tasks are put according to a StreamMapping: streams that run
// (device_queues.h), and those of a step captured as a graph (step_graph.h). One thread uses them.

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/streams/stream_mapping.h"
#include "core/scheduler/executor.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// A task or part as it is reported when it has run.
struct DeviceWork {
  CompletedWork completed;
  /// Its trace record, without the times.
  TraceEvent traced;
};

class StreamQueues {
 public:
  virtual ~StreamQueues() = default;

  virtual StreamMapping& mapping() = 0;

  /// Makes the stream of `placement` wait as it says, and returns that stream for the task's work.
  /// `work` is what end() will be told, or null.
  virtual Result<DeviceStream> begin(const StreamPlacement& placement, const DeviceWork* work) = 0;
  /// Call it when all work of `position` is in its stream. `work`, if not null, is reported when it
  /// has run.
  virtual Result<void> end(StreamPosition position, const DeviceWork* work) = 0;
};

}  // namespace hocket
