#include "profiler/formats/file_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hocket {

std::int64_t FileClock::on_reference(const ClockFit& fit, std::int64_t clock_ns) {
  // Exact if there is nothing to convert: a double does not hold every time.
  if (fit.offset_ns == 0 && fit.drift == 0) return clock_ns;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const double since = static_cast<double>(clock_ns) - static_cast<double>(fit.reference_ns);
  constexpr double kFarthest = 9e18;
  const double moved = std::clamp(fit.offset_ns + fit.drift * since, -kFarthest, kFarthest);
  std::int64_t result = 0;
  if (__builtin_add_overflow(clock_ns, std::llround(moved), &result)) {
    result = moved < 0 ? -kLargest : kLargest;
  }
  return std::max(result, -(kLargest / 2));
}

std::int64_t shift_of(std::span<const RankTrace> traces, std::span<const ClockFit> fits) {
  std::int64_t least = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const auto see = [&](std::int64_t ns) {
      least = std::min(least, FileClock::on_reference(fits[i], ns));
    };
    if (!traces[i].records.empty()) see(traces[i].records.front().begin_ns);
    if (!traces[i].step_starts.empty()) see(traces[i].step_starts.front().begin_ns);
  }
  return -least;
}

}  // namespace hocket
