#include "profiler/cupti/clock_map.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace hocket {
namespace {

constexpr double kMostDrift = 500e-6;
constexpr std::int64_t kReadingSlackNs = 10'000;

/// Returns whether the clocks diverged between two readings by more than a drift explains.
bool is_jump(const ClockReading& a, const ClockReading& b) {
  const std::int64_t passed_ns = b.clock_ns - a.clock_ns;
  const std::int64_t apart_ns = std::abs((b.cupti_ns - a.cupti_ns) - passed_ns);
  const auto drift_ns =
      static_cast<std::int64_t>(std::ceil(2 * kMostDrift * static_cast<double>(passed_ns)));
  return apart_ns > drift_ns + a.width_ns + b.width_ns + kReadingSlackNs ||
         b.cupti_ns <= a.cupti_ns;
}

std::int64_t interpolate(const ClockReading& a, const ClockReading& b, std::int64_t cupti_ns) {
  const auto share =
      static_cast<double>(cupti_ns - a.cupti_ns) / static_cast<double>(b.cupti_ns - a.cupti_ns);
  const std::int64_t before_ns = a.clock_ns - a.cupti_ns, after_ns = b.clock_ns - b.cupti_ns;
  return cupti_ns + before_ns + std::llround(share * static_cast<double>(after_ns - before_ns));
}

/// Returns whether a jump between these readings leaves open on which side of it `cupti_ns` lies.
bool is_hidden(const ClockReading& a, const ClockReading& b, std::int64_t cupti_ns) {
  const std::int64_t passed_ns = b.clock_ns - a.clock_ns;
  return (cupti_ns > a.cupti_ns && cupti_ns <= a.cupti_ns + passed_ns) ||
         (cupti_ns < b.cupti_ns && cupti_ns >= b.cupti_ns - passed_ns);
}

}  // namespace

std::optional<ClockReading> read_clocks(const CuptiApi& api, const Clock& clock, int tries) {
  std::optional<ClockReading> best;
  for (int i = 0; i < tries; ++i) {
    const std::int64_t before_ns = clock.now_ns();
    std::uint64_t cupti_ns = 0;
    if (api.timestamp(cupti_ns) != 0 || cupti_ns == 0 ||
        cupti_ns > std::uint64_t{std::numeric_limits<std::int64_t>::max() / 2}) {
      return std::nullopt;
    }
    const std::int64_t width_ns = clock.now_ns() - before_ns;
    if (best && best->width_ns <= width_ns) continue;
    best = {static_cast<std::int64_t>(cupti_ns), before_ns + width_ns / 2, width_ns};
  }
  return best;
}

void ClockMap::add(const ClockReading& reading) {
  if (!readings_.empty()) {
    const ClockReading& last = readings_.back();
    if (reading.clock_ns - last.clock_ns <= reading.width_ns + last.width_ns) return;
    if (is_jump(last, reading)) jumps_.push_back(readings_.size());
  }
  readings_.push_back(reading);
}

std::optional<std::int64_t> ClockMap::to_clock_ns(std::int64_t cupti_ns) const {
  if (readings_.empty()) return std::nullopt;
  for (const std::size_t jump : jumps_) {
    if (is_hidden(readings_[jump - 1], readings_[jump], cupti_ns)) return std::nullopt;
  }
  // Between jumps CUPTI's clock rises. Looks in each such stretch, and answers if only one has the
  // time.
  std::optional<std::int64_t> found;
  for (std::size_t stretch = 0; stretch <= jumps_.size(); ++stretch) {
    const std::size_t first = stretch == 0 ? 0 : jumps_[stretch - 1];
    const std::size_t end = stretch == jumps_.size() ? readings_.size() : jumps_[stretch];
    const ClockReading &low = readings_[first], &high = readings_[end - 1];
    // A time before the first reading of one stretch may belong to another stretch.
    const bool is_within = low.cupti_ns <= cupti_ns && cupti_ns <= high.cupti_ns;
    if (!is_within && !jumps_.empty()) continue;
    if (found) return std::nullopt;
    if (cupti_ns <= low.cupti_ns) {
      found = low.clock_ns - (low.cupti_ns - cupti_ns);
    } else if (cupti_ns >= high.cupti_ns) {
      found = high.clock_ns + (cupti_ns - high.cupti_ns);
    } else {
      const auto after = std::upper_bound(
          readings_.begin() + static_cast<std::ptrdiff_t>(first),
          readings_.begin() + static_cast<std::ptrdiff_t>(end), cupti_ns,
          [](std::int64_t ns, const ClockReading& reading) { return ns < reading.cupti_ns; });
      found = interpolate(*(after - 1), *after, cupti_ns);
    }
  }
  return found;
}

std::vector<ClockSample> ClockMap::samples() const {
  std::vector<ClockSample> samples;
  for (const ClockReading& reading : readings_) {
    samples.push_back({reading.clock_ns, reading.cupti_ns});
  }
  return samples;
}

}  // namespace hocket
