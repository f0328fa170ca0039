#pragma once

// Streams that are forked from one and joined to it again: all that is put into them comes after
// what was in that one, and before what follows there. Outside a capture and within. One thread
// uses it.

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
  /// `driver` must outlive the streams; open() them first.
  ForkedStreams(DeviceDriver& driver, const Lanes& lanes)
      : driver_(driver), lanes_(lanes), events_(driver, EventTiming::none) {}
  /// What is in the streams need not have run.
  ~ForkedStreams() override;
  ForkedStreams(const ForkedStreams&) = delete;
  ForkedStreams& operator=(const ForkedStreams&) = delete;

  /// Makes them, those of channels and of the ends of memory urgent.
  Result<void> open();

  /// From here to join(), or until the next fork() after a failure, tasks may be put into streams.
  /// The mapping is a new one.
  Result<void> fork(DeviceStream origin);
  Result<void> join();

  StreamMapping& mapping() override { return *mapping_; }
  Result<DeviceStream> begin(const StreamPlacement& placement) override;
  /// `work` is told to nobody.
  Result<void> end(StreamPosition position, const std::optional<DeviceWork>& work) override;

 private:
  /// An event that stands for what is in `stream`; it goes back to the pool with all others.
  Result<DeviceEvent> record(DeviceStream stream);
  void give_back_events();

  DeviceDriver& driver_;
  const Lanes lanes_;
  DeviceEventPool events_;
  std::vector<DeviceStream> streams_;
  std::optional<StreamMapping> mapping_;
  DeviceStream origin_;
  DeviceEvent forked_;
  std::vector<std::vector<DeviceEvent>> ends_;  // by stream, then by position
  std::vector<DeviceEvent> taken_;
};

}  // namespace hocket
