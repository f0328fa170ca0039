#pragma once

// Streams into which tasks are put according to a StreamMapping: streams that run
// (device_queues.h), and those of a step captured as a graph (step_graph.h). One thread uses them.

#include <cstdint>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/streams/stream_mapping.h"
#include "core/scheduler/executor.h"
#include "core/trace/lane_board.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// A task, or a part of a communication, in a stream.
struct DeviceWork {
  /// Its trace record, without the times.
  TraceEvent traced;
  /// Rank at the other end of a message.
  std::int32_t peer_rank = kNoPeer;

  /// Returns what is reported when it has run.
  CompletedWork completed() const {
    const bool is_part = traced.kind == TraceKind::communication;
    return {.step = traced.step, .is_part = is_part, .part_bytes = is_part ? traced.bytes : 0};
  }
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
