#pragma once

// All ranks' records of a profile on one axis, for a page that draws and searches them. Time 0 is
// the earliest begin, on the reference rank's clock. Any thread may call the const functions of one
// Timeline at once.
//
// A stream, channel or host thread becomes one lane, or several where its records overlap: the
// records of a lane are disjoint and sorted by time. Before a rank's own lanes come lanes of what
// is derived: iterations (of one rank only) and exposed communication.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/collective_kind.h"
#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/timeline/lane_kind.h"

namespace hocket {

/// Records of one stream, channel or thread that overlap more deeply than this are left out.
inline constexpr std::size_t kMaxLaneRows = 256;
/// Streams, channels and threads beyond this number of lanes are left out: a lane takes memory.
inline constexpr std::size_t kMaxTimelineLanes = 65'536;
/// Bytes of a name that are kept.
inline constexpr std::size_t kMaxTimelineNameBytes = 16'384;

inline constexpr int kTileColumns = 512;
inline constexpr int kMaxTileLevel = 40;
/// First word of a tile.
inline constexpr std::uint32_t kTileMagic = 0x31544b48;
/// A box's name if its records have several.
inline constexpr std::uint32_t kSeveralNames = 0xffffffff;

inline constexpr std::size_t kMaxTopNames = 20;

struct TimelineRank {
  std::int64_t rank = 0;
  std::string host, source;  ///< valid UTF-8
};

struct TimelineLane {
  std::int64_t rank = 0;
  LaneKind kind = LaneKind::compute;
  std::int32_t lane = 0;   ///< as in TraceRecord::lane
  std::string title = {};  ///< "stream 0", "communication 1 (2)"
  std::uint32_t records = 0;
};

struct TimelineIteration {
  std::int64_t step = 0, begin_ns = 0, end_ns = 0;
};

/// A lane and the index of a record in it.
struct RecordPlace {
  std::uint32_t lane = 0, record = 0;

  auto operator<=>(const RecordPlace&) const = default;
};

/// One rank's part of a collective.
struct CollectivePart {
  std::int64_t rank = 0;
  RecordPlace place;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// A record with all that is known of it.
struct RecordDetails {
  std::string name;
  LaneKind kind = LaneKind::compute;
  std::int64_t rank = 0;
  std::int32_t lane = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::optional<std::int64_t> step = {}, task = {}, bytes = {}, sequence = {}, submitted_ns = {},
                              ready_ns = {};
  std::optional<CollectiveKind> collective = {};
  /// Parts of the collective on all ranks that have it, this record's included; empty unless two
  /// ranks have one.
  std::vector<CollectivePart> parts = {};
  /// Time from the first part's begin to the last one's; absent without parts.
  std::optional<std::int64_t> arrival_skew_ns = {};
};

/// One rank's figures within a range of time, as docs/METRICS.md defines them, with the range as
/// the window. compute, exposed, copies that overlap with nothing, and idle sum to the range.
struct RankFigures {
  std::int64_t rank = 0;
  std::int64_t compute_ns = 0, communication_ns = 0, exposed_ns = 0, copy_ns = 0;
  /// Absent if the rank's trace has no computation, communication or copy at all.
  std::optional<std::int64_t> idle_ns = {};
  /// Records of the rank's own lanes that lie in the range at least in part.
  std::int64_t records = 0;
};

/// All records of one kind and name within a range of time. `busy_ns` is the sum of their lengths.
struct NameFigures {
  LaneKind kind = LaneKind::compute;
  std::string name;
  std::int64_t records = 0, busy_ns = 0;
};

struct RangeFigures {
  std::int64_t begin_ns = 0, end_ns = 0;  ///< the range, within the axis
  std::vector<RankFigures> ranks;
  /// The kMaxTopNames kinds and names with the longest busy time, longest first.
  std::vector<NameFigures> top;
};

/// A search for records of `kind` (any kind if absent) whose name contains `text`, ignoring the
/// case of ASCII letters. The empty text matches every name. Matches are ordered by begin, then by
/// place.
struct TimelineSearch {
  std::string text = {};
  std::optional<LaneKind> kind = {};
  /// Forward: the first match that begins at this time or later. Backward: the last match that
  /// begins before it.
  std::int64_t from_ns = 0;
  bool backward = false;
  /// If set, `from_ns` does not count: the match after (backward: before) this record, which need
  /// not be a match itself.
  std::optional<RecordPlace> from = {};
  /// Shorter matches are passed over; TimelineMatches::matches counts them.
  std::int64_t least_ns = 0;
};

struct FoundRecord {
  RecordPlace place;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::string name;
};

struct TimelineMatches {
  std::optional<FoundRecord> found;
  /// Number of matches in the whole timeline.
  std::int64_t matches = 0;
};

struct TimelineState;

class Timeline {
 public:
  /// Copies all it needs; O(n log n) in the records. Leaves out implausible records and those whose
  /// name is unknown. Requires one fit for each trace, in their order.
  Timeline(std::span<const RankTrace> traces, std::span<const ClockFit> fits);
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(Timeline&&) noexcept;
  ~Timeline();

  /// Length of the axis, at least 1.
  std::int64_t end_ns() const;
  /// Number of records in the traces' own lanes.
  std::int64_t records() const;
  /// Names by their numbers in tiles; valid UTF-8.
  const std::vector<std::string>& names() const;
  const std::vector<TimelineRank>& ranks() const;
  /// Lanes by rank, then kind.
  const std::vector<TimelineLane>& lanes() const;
  /// Iterations of the reference rank or, if it has none, of the first rank that has.
  const std::vector<TimelineIteration>& iterations() const;
  /// Messages for people: records left out, clocks that are related to no other.
  const std::vector<std::string>& notes() const;
  /// Bytes of memory that the timeline holds, about.
  std::size_t bytes() const;

  /// Lanes from `first` on, by default all; ends at the last lane.
  struct LaneSpan {
    std::uint32_t first = 0, count = 0xffffffff;
  };
  /// Returns tile `index` of level `level`, which divides the axis into 2^level equal tiles of
  /// kTileColumns columns: 32-bit words, whose layout is in profiler/timeline/tile.h. Has only
  /// `lanes`. O(columns · log n) for each lane. invalid_argument if there is no such tile or no
  /// such lane.
  Result<std::vector<std::uint32_t>> tile(std::int64_t level, std::int64_t index,
                                          LaneSpan lanes) const;
  Result<std::vector<std::uint32_t>> tile(std::int64_t level, std::int64_t index) const {
    return tile(level, index, LaneSpan());
  }

  /// Returns a record; not_found if there is none.
  Result<RecordDetails> record(std::int64_t lane, std::int64_t record) const;

  /// Returns the figures of a range of time, cut to the axis: O(ranks · lanes · log n), and O(1)
  /// for each record in the range to find the longest names. invalid_argument if it ends before it
  /// begins.
  Result<RangeFigures> range(std::int64_t begin_ns, std::int64_t end_ns) const;

  /// Returns the next match. O(bytes of names), and at most O(1) for each record between the
  /// place where the search begins and the match. not_found if `from` is no record.
  Result<TimelineMatches> find(const TimelineSearch& search) const;

 private:
  std::unique_ptr<const TimelineState> state_;
};

}  // namespace hocket
