#pragma once

// Which stream of a device runs a task, and what it waits for. Tasks come with their accesses, in
// an order in which those that conflict come one after the other as submitted; where they go
// follows from these calls alone. Pure; not thread-safe.
//
// Streams are numbered: first those for computation, then one for each channel, and one for the
// ends of memory.
//
//  - A compute task goes where it could begin first if every task took equally long: where its last
//  predecessor is the last task of a stream, to that stream, since any other would begin no sooner
//  and need a wait. Among equals, to the one that needs the fewest waits, then to the one with the
//  fewest tasks that have not run, then to the first.
//  - A part of a collective goes to the channel that its index names, the same on all ranks.
//  - Parts of one collective are pieces of the same data, and not ordered among each other.
//
// Guarantees: any two tasks with conflicting accesses are ordered by streams and waits; no wait is
// implied by others or by what has run.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cuda/streams/stream_order.h"
#include "core/step/task.h"

namespace hocket {

/// Where a task runs. Its stream waits for the ends of the tasks at `waits` first.
struct StreamPlacement {
  StreamPosition position;
  std::vector<StreamPosition> waits;
};

class StreamMapping {
 public:
  /// At least one of each.
  StreamMapping(int compute_streams, int channels);

  /// The placement is valid until the next call.
  const StreamPlacement& place_compute(std::span<const Access> accesses);
  /// The part comes after the positions `also_after`, too, at most one a stream.
  const StreamPlacement& place_part(TaskId collective, std::span<const Access> accesses,
                                    std::uint64_t index,
                                    std::span<const StreamPosition> also_after = {});

  /// Where the memory of `data` may be freed, since no later task reads what is in it. At `last`,
  /// the last position of its stream, when all uses come before the end of that; else at a position
  /// of its own on the last stream. Later tasks that access `data` come after it.
  const StreamPlacement& place_release(DataId data, StreamPosition last);

  /// What a task with these accesses would wait for and has not run, at most one a stream; valid
  /// until the next call.
  std::span<const StreamPosition> predecessors(std::span<const Access> accesses);

  /// What runs on this position's stream up to it has run.
  void completed(StreamPosition position) { order_.completed(position); }
  bool has_completed(StreamPosition position) const { return order_.has_completed(position); }

  std::uint32_t compute_streams() const { return compute_streams_; }
  std::uint32_t channels() const { return order_.streams() - 1 - compute_streams_; }
  std::uint32_t streams() const { return order_.streams(); }

 private:
  /// The last uses of a piece of data; of each kind at most one a stream.
  struct Uses {
    std::optional<TaskId> collective;     ///< whose parts are the writers
    std::vector<StreamPosition> before;   ///< what each of the writers comes after
    std::vector<StreamPosition> writers;  ///< one, or the parts of a collective
    std::vector<StreamPosition> readers;  ///< since then
  };

  void find_predecessors(std::optional<TaskId> collective, std::span<const Access> accesses);
  void note(std::optional<TaskId> collective, std::span<const Access> accesses);
  void join(std::vector<StreamPosition>& positions, StreamPosition position) const;
  void join(std::vector<StreamPosition>& positions, std::span<const StreamPosition> others) const {
    for (const StreamPosition& other : others) join(positions, other);
  }

  const std::uint32_t compute_streams_;
  StreamOrder order_;
  std::vector<Uses> uses_;  // by data
  StreamPlacement placement_;
  std::vector<StreamPosition> after_, waits_;  // scratch
};

}  // namespace hocket
