#pragma once

// Streams into which tasks are put where a StreamMapping says: those that run (device_queues.h),
// and those of a step that is kept as a graph (step_graph.h).

#include <optional>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/streams/stream_mapping.h"
#include "core/scheduler/executor.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// A task or part as it comes out when it has run.
struct DeviceWork {
  CompletedWork completed;
  /// Its record in a trace, without the times.
  TraceEvent traced;
};

class StreamQueues {
 public:
  virtual ~StreamQueues() = default;

  virtual StreamMapping& mapping() = 0;

  /// Makes the stream of `placement` wait as it says; returns the stream, for what is to run.
  virtual Result<DeviceStream> begin(const StreamPlacement& placement) = 0;
  /// All that `position` stands for is in its stream.
  virtual Result<void> end(StreamPosition position, const std::optional<DeviceWork>& work) = 0;
};

}  // namespace hocket
