#pragma once

// Decides which stream of a device runs a task and what the stream waits for. Tasks come with their
// accesses, in an order in which conflicting tasks follow each other as submitted. The placement
// follows from these calls alone. Pure; not thread-safe.
//
// Streams are numbered: first those for computation, then one per channel, then, for placed steps,
// one for each other lane (TaskLane), and last one for the release of memory.
//
//  - A compute task goes to the stream on which it could begin first if every task took equally
//    long. If its last predecessor is the last task of a stream, it goes to that stream, since any
//    other would begin no sooner and need a wait. Ties are broken by the fewest waits, then by the
//    fewest tasks that have not run, then by the lowest number.
//  - A part of a collective goes to the channel that a number selects, the same on all its ranks.
//  - Parts of one collective are ranges of the same data and are not ordered among each other.
//
// Guarantees: any two tasks with conflicting accesses are ordered by streams and waits; no wait is
// implied by other waits or by work that has run.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cuda/streams/stream_order.h"
#include "core/step/task.h"

namespace hocket {

/// Position at which a task runs, and the tasks whose ends its stream waits for first.
struct StreamPlacement {
  StreamPosition position;
  std::vector<StreamPosition> waits;
};

class StreamMapping {
 public:
  /// Requires at least one of each. `has_lanes` says whether there are lanes beside the streams.
  StreamMapping(int compute_streams, int channels, bool has_lanes = false);

  /// Places a compute task. The placement is valid until the next call.
  const StreamPlacement& place_compute(std::span<const Access> accesses);
  /// Places a task of a lane other than the streams', which has a stream of its own.
  const StreamPlacement& place_in_lane(TaskLane lane, std::span<const Access> accesses);
  /// Places a part, which also comes after the positions `also_after`, at most one per stream.
  const StreamPlacement& place_part(TaskId collective, std::span<const Access> accesses,
                                    std::uint64_t number,
                                    std::span<const StreamPosition> also_after = {});

  /// Places the release of the memory of `data`, which no later task reads. The placement is
  /// `last`, the last position of its stream, when all uses come before the end of that task;
  /// otherwise a new position on the last stream. Later tasks that access `data` come after it.
  const StreamPlacement& place_release(DataId data, StreamPosition last);

  /// Returns the positions a task with these accesses would wait for and that have not run, at most
  /// one per stream. Valid until the next call.
  std::span<const StreamPosition> predecessors(std::span<const Access> accesses);

  /// Marks all work up to this position of its stream as run.
  void completed(StreamPosition position) { order_.completed(position); }
  bool has_completed(StreamPosition position) const { return order_.has_completed(position); }

  std::uint32_t compute_streams() const { return compute_streams_; }
  std::uint32_t channels() const { return channels_; }
  std::uint32_t streams() const { return order_.streams(); }

 private:
  /// The last uses of a piece of data; each list has at most one position per stream.
  struct Uses {
    std::optional<TaskId> collective;     ///< collective whose parts are the writers
    std::vector<StreamPosition> before;   ///< positions that each of the writers comes after
    std::vector<StreamPosition> writers;  ///< one task, or the parts of a collective
    std::vector<StreamPosition> readers;  ///< readers since the last write
  };

  void find_predecessors(std::optional<TaskId> collective, std::span<const Access> accesses);
  void note(std::optional<TaskId> collective, std::span<const Access> accesses);
  void join(std::vector<StreamPosition>& positions, StreamPosition position) const;
  void join(std::vector<StreamPosition>& positions, std::span<const StreamPosition> others) const {
    for (const StreamPosition& other : others) join(positions, other);
  }

  const std::uint32_t compute_streams_, channels_;
  StreamOrder order_;
  std::vector<Uses> uses_;  // by data
  StreamPlacement placement_;
  std::vector<StreamPosition> after_, waits_;  // scratch
};

}  // namespace hocket
