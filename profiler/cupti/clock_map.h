#pragma once

// From CUPTI's clock, which is the host's realtime clock, to the clock of everything else that a
// rank records. Both were read together now and then; between two readings a time is interpolated.
// Pure, but for read_clocks(). Not thread-safe.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/trace/rank_trace.h"
#include "profiler/cupti/cupti_api.h"

namespace hocket {

/// CUPTI's clock showed `cupti_ns` at `clock_ns` of the host's, give or take half of `width_ns`.
struct ClockReading {
  std::int64_t cupti_ns = 0, clock_ns = 0, width_ns = 0;

  bool operator==(const ClockReading&) const = default;
};

/// Reads both `tries` times and gives the reading that took least. None when CUPTI's clock cannot
/// be read.
std::optional<ClockReading> read_clocks(const CuptiApi& api, const Clock& clock, int tries = 9);

class ClockMap {
 public:
  /// Those that are not later than the last one, for certain, are left out.
  void add(const ClockReading& reading);

  /// None where nothing tells it: without readings, and around a time at which the realtime clock
  /// was set. Before the first reading and after the last one the two clocks are taken to run
  /// alike, unless that happened.
  std::optional<std::int64_t> to_clock_ns(std::int64_t cupti_ns) const;

  /// How often the realtime clock was set: between two readings the clocks went apart by more than
  /// its rate may be corrected by (500 ppm, as NTP limits it: Mills, RFC 5905, section 11.3).
  std::int64_t jumps() const { return static_cast<std::int64_t>(jumps_.size()); }
  std::vector<ClockSample> samples() const;

 private:
  std::vector<ClockReading> readings_;  // rising in clock_ns, and in cupti_ns but at a jump
  std::vector<std::size_t> jumps_;      // readings that follow one
};

}  // namespace hocket
