#pragma once

// The streams of a device and the work in them that has not run. Carries out the decisions of a
// StreamMapping and finds out which work has run. One thread uses it.
//
// An event is recorded right after each task. Recorded later, when another stream waits for it, it
// would also stand for work put into the stream since. Events come from a pool and return to it
// when they have run. A stream's events run in order, so a binary search over them finds how many
// have run; a stream without progress costs one query.
//
// Only what the trace wants is timed (TraceSink::detail()), since that costs an event and two
// queries a task, and the device's time to write the two times. A task begins when the device
// reaches it: when everything before it in its stream has ended, and everything that the stream
// waits for. That takes an event of its own. The end of the task before would count as the task's
// own the time in which its stream waited, or was empty because the host was late.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/driver/device_event_pool.h"
#include "core/cuda/streams/device_timeline.h"
#include "core/cuda/streams/ring_queue.h"
#include "core/cuda/streams/stream_mapping.h"
#include "core/cuda/streams/stream_queues.h"
#include "core/scheduler/executor.h"
#include "core/trace/lane_board.h"
#include "core/trace/trace_sink.h"

namespace hocket {

class DeviceQueues final : public StreamQueues {
 public:
  /// Creates the streams; all but those that compute are urgent. `trace`, if not null,
  /// receives what it wants of the work that has run, with device times converted to the time of
  /// `clock`. `board`, if not null, shows of each stream the first work that has not run, as of the
  /// last poll(). All arguments must outlive the queues.
  static Result<std::unique_ptr<DeviceQueues>> open(DeviceDriver& driver, const LaneCounts& lanes,
                                                    TraceSink* trace, const Clock& clock,
                                                    LaneBoard* board = nullptr);
  /// Work in the streams need not have run.
  ~DeviceQueues() override;
  DeviceQueues(const DeviceQueues&) = delete;
  DeviceQueues& operator=(const DeviceQueues&) = delete;

  StreamMapping& mapping() override { return mapping_; }
  Result<DeviceStream> begin(const StreamPlacement& placement, const DeviceWork* work) override;
  Result<void> end(StreamPosition position, const DeviceWork* work) override;

  /// Appends to `completed` the work that has run since the last call, and tells the mapping and
  /// the trace.
  Result<void> poll(std::vector<CompletedWork>& completed);

  /// Returns the number of positions that have not run, as of the last poll().
  std::size_t in_flight() const { return in_flight_; }

 private:
  /// The times that are taken: none, that of the step's begin, or those of the task's begin and
  /// end.
  enum class Timing : std::uint8_t { none, step, task };

  struct Entry {
    DeviceEvent end;
    DeviceEvent begin;  ///< null without timing
    Timing timing = Timing::none;
    bool has_work = false;
    bool is_told = false;  ///< recorded without times of the device (TraceDetail::order)
    std::int32_t peer_rank = kNoPeer;
    CompletedWork completed;
    TraceEvent traced;  ///< only with timing, if it is told, or with a board
  };
  struct Queue {
    DeviceStream stream;
    RingQueue<Entry> entries;        ///< in order
    std::uint64_t first_number = 1;  ///< position of the first entry
    // Begin event and timing of the task for which begin() was called and end() was not:
    DeviceEvent begun;
    Timing timing = Timing::none;
    bool is_told = false;
    // Lane that the board shows as running:
    bool is_shown = false;
    TraceKind shown_kind = TraceKind::compute;
    std::int32_t shown_lane = 0;
  };

  DeviceQueues(DeviceDriver& driver, const LaneCounts& lanes, TraceSink* trace, const Clock& clock,
               LaneBoard* board);
  /// Decides for the task that `queue` is about to take.
  void decide_timing(const DeviceWork* work, Queue& queue);
  /// Events of timed tasks' ends, and all begins, are timed.
  DeviceEventPool& ends_of(Timing timing) { return timing == Timing::task ? timed_ : untimed_; }
  Result<DeviceEvent> record(DeviceEventPool& events, DeviceStream stream);
  /// Returns the events of an entry that has run to their pools, and traces the entry.
  Result<void> put_away(const Entry& entry);
  /// Says on the board what a stream runs.
  void show(Queue& queue, const TraceEvent& work, std::int32_t peer_rank);
  void show_first(Queue& queue);
  /// Returns how many of the queue's entries have run.
  Result<std::size_t> count_run(const Queue& queue);

  DeviceDriver& driver_;
  StreamMapping mapping_;
  TraceSink* const trace_;
  const Clock& clock_;
  LaneBoard* const board_;
  DeviceEventPool untimed_, timed_;
  std::optional<DeviceTimeline> timeline_;  // only with a trace
  std::int64_t newest_step_ = -1;           // latest step whose begin is timed; -1: none yet
  std::vector<Queue> queues_;               // by stream
  std::size_t in_flight_ = 0;
};

}  // namespace hocket
