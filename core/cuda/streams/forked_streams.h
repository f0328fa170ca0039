#pragma once

// Streams that are forked from an origin stream and joined to it again: all work put into them runs
// after the work that is in the origin at the fork and before the work that follows the join. Works
// inside and outside a capture. One thread uses it.

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/driver/device_event_pool.h"
#include "core/cuda/streams/stream_queues.h"
#include "core/scheduler/executor.h"

namespace hocket {

class ForkedStreams final : public StreamQueues {
 public:
  /// `driver` must outlive the streams. Call open() before anything else.
  ForkedStreams(DeviceDriver& driver, const LaneCounts& lanes)
      : driver_(driver), lanes_(lanes), events_(driver, EventTiming::none) {}
  /// Work in the streams need not have run.
  ~ForkedStreams() override;
  ForkedStreams(const ForkedStreams&) = delete;
  ForkedStreams& operator=(const ForkedStreams&) = delete;

  /// Creates the streams; those of channels and of memory release are urgent.
  Result<void> open();

  /// Forks from `origin`, with a new mapping. Tasks may be put into the streams until join(), or
  /// after a failure until the next fork().
  Result<void> fork(DeviceStream origin);
  Result<void> join();

  StreamMapping& mapping() override { return *mapping_; }
  // Both ignore `work`.
  Result<DeviceStream> begin(const StreamPlacement& placement, const DeviceWork* work) override;
  Result<void> end(StreamPosition position, const DeviceWork* work) override;

 private:
  /// Returns an event that stands for the work in `stream`. It returns to the pool together with
  /// all others.
  Result<DeviceEvent> record(DeviceStream stream);
  void give_back_events();

  DeviceDriver& driver_;
  const LaneCounts lanes_;
  DeviceEventPool events_;
  std::vector<DeviceStream> streams_;
  std::optional<StreamMapping> mapping_;
  DeviceStream origin_;
  DeviceEvent forked_;
  // by stream, then by position
  std::vector<std::vector<DeviceEvent>> ends_;
  std::vector<DeviceEvent> taken_;
};

}  // namespace hocket
