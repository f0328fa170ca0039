#pragma once

// Brings the clocks of all ranks to one axis whose 0 is the earliest begin. Const functions may be
// called by any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

class TimelineAxis {
 public:
  /// Requires one fit for each trace. Keeps both.
  TimelineAxis(std::span<const RankTrace> traces, std::span<const ClockFit> fits);

  /// Returns a time of a trace's clock on the axis, to the nanosecond. Begins of usable records and
  /// step starts are at least 0. Nothing overflows.
  std::int64_t at(std::size_t trace, std::int64_t clock_ns) const;

  /// Messages for people about clocks that are related to no other.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void relate(std::span<const RankTrace> traces);
  /// Returns the time on the reference's clock, minus origin_ns_.
  std::int64_t from_origin(std::size_t trace, std::int64_t clock_ns) const;

  std::span<const ClockFit> fits_;
  /// By trace: what is added to its times before its fit applies.
  std::vector<std::int64_t> shifts_ns_;
  /// A time near the earliest begin, on the reference's clock: a double holds a time since 1970
  /// only to 256 ns, but one since the origin to less than one.
  std::int64_t origin_ns_ = 0;
  std::int64_t zero_ns_ = 0;  ///< the earliest begin, from the origin
  std::vector<std::string> notes_;
};

/// Returns whether a record can be drawn: it is plausible and has a name.
bool is_usable(const RankTrace& trace, const TraceRecord& record);

}  // namespace hocket
