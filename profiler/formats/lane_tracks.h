#pragma once

// Which of a lane's tracks shows a record, so that the records of one track are disjoint, or lie in
// one another: viewers drop or misplace what overlaps otherwise.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/trace/trace_sink.h"

namespace hocket {

class LaneTracks {
 public:
  /// With `nests`, the first track holds records that lie in one another.
  explicit LaneTracks(bool nests = false) : nests_(nests) {}

  /// The track, from 0, of a record from `begin_ns` to `end_ns`. Records may come in any order; in
  /// that of their begins or ends the fewest tracks are needed.
  std::size_t place(std::int64_t begin_ns, std::int64_t end_ns);

  std::size_t size() const { return tracks_; }

 private:
  bool fits_first(std::int64_t begin_ns, std::int64_t end_ns);

  bool nests_ = false;
  std::size_t tracks_ = 0;
  std::multimap<std::int64_t, std::size_t> by_end_;  ///< track by the end of its last record
  // Of the first track, if it nests: where those begun and not ended end, the innermost last, and
  // the latest begin.
  std::vector<std::int64_t> open_ends_;
  std::int64_t latest_begin_ns_ = std::numeric_limits<std::int64_t>::min();
};

/// Whether records of a lane of this kind may lie in one another.
bool nests(TraceKind kind);

/// "stream 0", "communication 1 (2)": what viewers call a track.
std::string track_name(TraceKind kind, std::int32_t lane, std::size_t track);

}  // namespace hocket
