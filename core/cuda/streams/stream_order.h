#pragma once

// What comes before what on a device that has several streams: tasks of a stream run one after
// another, and those after a wait come after what was waited for. Pure; not thread-safe.
//
// A position is a task's place in its stream. Each has a clock: for every stream the last position
// that comes before its end, itself included (a vector clock; Fidge, 1988; Mattern, 1989). So one
// comparison says whether a task comes before another, and which waits are implied by others.
//
// Invariants:
//  1. the clock of a position is at least that of every position that comes before it;
//  2. the row of a position is kept until completed() says that it has run.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/check.h"

namespace hocket {

/// A task's place on the device: the `number`-th of `stream`, from 1.
struct StreamPosition {
  std::uint32_t stream = 0;
  std::uint64_t number = 0;
  bool operator==(const StreamPosition&) const = default;
};

class StreamOrder {
 public:
  explicit StreamOrder(std::uint32_t streams);

  std::uint32_t streams() const { return static_cast<std::uint32_t>(tracks_.size()); }

  /// Of the positions `after`, at most one a stream, the fewest that `stream` must wait for so that
  /// its next task comes after all of them: none that is implied by what the stream has waited for
  /// before, by another one of them, or by its having run. They replace what is in `waits`.
  void find_waits(std::uint32_t stream, std::span<const StreamPosition> after,
                  std::vector<StreamPosition>& waits) const;

  /// When the next task of `stream` would begin if it came after `after`, and every task took one
  /// unit of time: how far from the start it is.
  std::uint64_t begin_of(std::uint32_t stream, std::span<const StreamPosition> after) const;

  /// Adds a task to `stream` that comes after `after`, and before which `stream` waits for `waits`,
  /// as find_waits() gives them.
  StreamPosition add(std::uint32_t stream, std::span<const StreamPosition> after,
                     std::span<const StreamPosition> waits);

  /// This position has run, and so has all that comes before it: it is waited for no longer.
  void completed(StreamPosition position);
  bool has_completed(StreamPosition position) const {
    return position.number <= tracks_[position.stream].completed;
  }
  /// How many tasks of the stream have not run.
  std::uint64_t left(std::uint32_t stream) const {
    return tracks_[stream].last - tracks_[stream].completed;
  }

 private:
  /// One stream. A row holds the clock of a position, then its end as begin_of() counts.
  struct Track {
    std::vector<std::uint64_t> now;  ///< the row of the last position, waits for the next included
    std::vector<std::uint64_t> rows;
    std::uint64_t first_row = 1;  ///< the position of the first of `rows`
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
