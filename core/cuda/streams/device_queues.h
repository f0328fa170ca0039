#pragma once

// The streams of a device with what was put into them and has not run: carries out what a
// StreamMapping decides, and finds out what has run. One thread uses it.
//
// After each task an event is recorded, at once: recorded when somebody waits for it, it would
// stand for all that was put into the stream since. Events are taken from a pool and go back when
// they have run. A stream's events run in order, so asking for a few of them, by halving, tells
// which have; a stream that has nothing new costs one question.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/driver/device_event_pool.h"
#include "core/cuda/streams/device_timeline.h"
#include "core/cuda/streams/stream_mapping.h"
#include "core/cuda/streams/stream_queues.h"
#include "core/scheduler/executor.h"
#include "core/trace/trace_sink.h"

namespace hocket {

class DeviceQueues final : public StreamQueues {
 public:
  /// Makes the streams: those of channels, and of the ends of memory, are urgent. `trace`, if not
  /// null, receives what has run and when, as the device says, in the time of `clock`; that takes a
  /// second event a task. All must outlive them.
  static Result<std::unique_ptr<DeviceQueues>> open(DeviceDriver& driver, const Lanes& lanes,
                                                    TraceSink* trace, const Clock& clock);
  /// What is in the streams need not have run.
  ~DeviceQueues() override;
  DeviceQueues(const DeviceQueues&) = delete;
  DeviceQueues& operator=(const DeviceQueues&) = delete;

  StreamMapping& mapping() override { return mapping_; }
  Result<DeviceStream> begin(const StreamPlacement& placement) override;
  Result<void> end(StreamPosition position, const std::optional<DeviceWork>& work) override;

  /// Appends what has run since the last call to `completed`, and tells the mapping and the trace.
  Result<void> poll(std::vector<CompletedWork>& completed);

  /// Positions that have not run, as far as poll() knows.
  std::size_t in_flight() const { return in_flight_; }

 private:
  struct Entry {
    DeviceEvent end;
    DeviceEvent begin;  ///< null without a trace
    std::optional<DeviceWork> work;
  };
  struct Queue {
    DeviceStream stream;
    std::deque<Entry> entries;       ///< in order
    std::uint64_t first_number = 1;  ///< the position of the first of them
    DeviceEvent begun;               ///< of the task that end() is to be called for
  };

  DeviceQueues(DeviceDriver& driver, const Lanes& lanes, TraceSink* trace);
  Result<DeviceEvent> record(DeviceStream stream);
  /// It has run: its events go back to the pool.
  Result<void> put_away(const Entry& entry);
  /// How many of the queue's entries have run.
  Result<std::size_t> count_run(const Queue& queue);

  DeviceDriver& driver_;
  StreamMapping mapping_;
  TraceSink* const trace_;
  DeviceEventPool events_;
  std::optional<DeviceTimeline> timeline_;  // with a trace
  std::vector<Queue> queues_;               // by stream
  std::size_t in_flight_ = 0;
};

}  // namespace hocket
