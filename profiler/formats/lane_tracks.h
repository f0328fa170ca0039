#pragma once

// Distributes a lane's records over tracks so that records of one track are disjoint or nested:
// viewers drop or misplace other overlaps. Not thread-safe.

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
  /// With `nests`, the first track holds nested records.
  explicit LaneTracks(bool nests = false) : nests_(nests) {}

  /// Returns the track, from 0, for a record from `begin_ns` to `end_ns`. Records may come in any
  /// order; the order of begins or of ends needs the fewest tracks.
  std::size_t place(std::int64_t begin_ns, std::int64_t end_ns);

  std::size_t size() const { return tracks_; }

 private:
  bool fits_first(std::int64_t begin_ns, std::int64_t end_ns);

  bool nests_ = false;
  std::size_t tracks_ = 0;
  std::multimap<std::int64_t, std::size_t> by_end_;  ///< track by the end of its last record
  // State of the first track, if it nests: the ends of open records, the innermost last, and the
  // latest begin.
  std::vector<std::int64_t> open_ends_;
  std::int64_t latest_begin_ns_ = std::numeric_limits<std::int64_t>::min();
};

/// Returns whether records of a lane of this kind may nest.
bool nests(TraceKind kind);

/// Returns the name of a track in viewers: "stream 0", "communication 1 (2)".
std::string track_name(TraceKind kind, std::int32_t lane, std::size_t track);

}  // namespace hocket
