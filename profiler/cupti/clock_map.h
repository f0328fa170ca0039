#pragma once

// Maps CUPTI's clock, which is the host's realtime clock, to the clock of a rank's other records.
// It interpolates between readings of both clocks. Pure, except read_clocks(). Not thread-safe.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/trace/rank_trace.h"
#include "profiler/cupti/cupti_api.h"

namespace hocket {

/// CUPTI's clock showed `cupti_ns` at `clock_ns` of the host's clock, ± half of `width_ns`.
struct ClockReading {
  std::int64_t cupti_ns = 0, clock_ns = 0, width_ns = 0;

  bool operator==(const ClockReading&) const = default;
};

/// Reads both clocks `tries` times and returns the fastest reading; nothing if CUPTI's clock cannot
/// be read.
std::optional<ClockReading> read_clocks(const CuptiApi& api, const Clock& clock, int tries = 9);

class ClockMap {
 public:
  /// Adds a reading; ignores it unless it is certainly later than the last one.
  void add(const ClockReading& reading);

  /// Returns the time on the host's clock. Returns nothing without readings and around a time at
  /// which the realtime clock was set. Before the first and after the last reading the two clocks
  /// are assumed to run at the same rate, unless that happened.
  std::optional<std::int64_t> to_clock_ns(std::int64_t cupti_ns) const;

  /// Returns how often the realtime clock was set: the clocks diverged between two readings by more
  /// than the limit of rate corrections (500 ppm in NTP: Mills, RFC 5905, section 11.3).
  std::int64_t jumps() const { return static_cast<std::int64_t>(jumps_.size()); }
  std::vector<ClockSample> samples() const;

 private:
  std::vector<ClockReading> readings_;  // rising in clock_ns, and in cupti_ns except at jumps
  std::vector<std::size_t> jumps_;      // indices of readings after a jump
};

}  // namespace hocket
