#pragma once

// The order of tasks on a device with several streams: tasks of a stream run one after another, and
// tasks after a wait run after the work waited for. Pure; not thread-safe.
//
// A position is a task's place in its stream. Each position has a vector clock (Fidge, 1988;
// Mattern, 1989): for every stream, the last position that comes before its end, itself included.
// So one comparison tells whether a task comes before another and which waits other waits imply.
//
// Invariants:
//  1. the clock of a position is at least that of every position that comes before it;
//  2. the row of a position is kept until completed() says that it has run.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/check.h"

namespace hocket {

/// A task's place on the device: the `number`-th task of `stream`, counted from 1.
struct StreamPosition {
  std::uint32_t stream = 0;
  std::uint64_t number = 0;
  bool operator==(const StreamPosition&) const = default;
};

class StreamOrder {
 public:
  explicit StreamOrder(std::uint32_t streams);

  std::uint32_t streams() const { return static_cast<std::uint32_t>(tracks_.size()); }

  /// Replaces `waits` by the fewest positions that `stream` must wait for so that its next task
  /// comes after all of `after`, which has at most one per stream. Leaves out positions that have
  /// run, or that are implied by earlier waits of the stream or by another position in `after`.
  void find_waits(std::uint32_t stream, std::span<const StreamPosition> after,
                  std::vector<StreamPosition>& waits) const;

  /// Returns when the next task of `stream` would begin if it came after `after` and every task
  /// took one unit of time, counted from the start.
  std::uint64_t begin_of(std::uint32_t stream, std::span<const StreamPosition> after) const;

  /// Adds a task to `stream`; it comes after `after`, and `stream` first waits for `waits`, the
  /// result of find_waits().
  StreamPosition add(std::uint32_t stream, std::span<const StreamPosition> after,
                     std::span<const StreamPosition> waits);

  /// Marks this position, and all that come before it, as run: they are no longer waited for.
  void completed(StreamPosition position);
  bool has_completed(StreamPosition position) const {
    return position.number <= tracks_[position.stream].completed;
  }
  /// Returns how many tasks of the stream have not run.
  std::uint64_t left(std::uint32_t stream) const {
    return tracks_[stream].last - tracks_[stream].completed;
  }

 private:
  /// One stream. A row holds the clock of a position, followed by its end in the units of
  /// begin_of().
  struct Track {
    std::vector<std::uint64_t> now;  ///< the row of the last position, plus the waits of the next
    std::vector<std::uint64_t> rows;
    std::uint64_t first_row = 1;  ///< the position of the first row
    std::uint64_t last = 0, completed = 0;
  };

  void drop_rows(Track& track);
  std::size_t row_size() const { return tracks_.size() + 1; }
  const std::uint64_t* row(StreamPosition position) const {
    const Track& track = tracks_[position.stream];
    HOCKET_CHECK(position.number >= track.first_row && position.number <= track.last,
                 "no such position, or it has run");
    return track.rows.data() + (position.number - track.first_row) * row_size();
  }

  std::vector<Track> tracks_;
};

}  // namespace hocket
