#include "core/sim/steady_period.h"

#include <cstdlib>

namespace hocket {
namespace {

/// Rounding to nanoseconds moves an event by up to 1, and a difference of two events by up to 2.
constexpr std::int64_t kRoundingNs = 2;
constexpr std::size_t kRounds = 3;

bool repeats(std::span<const FinishedIteration> iterations, std::size_t cycle, std::int64_t tasks) {
  if (iterations.size() < kRounds * cycle) return false;
  const auto last = iterations.last(kRounds * cycle);
  for (std::size_t i = cycle; i < last.size(); ++i) {
    const auto &now = last[i], &before = last[i - cycle];
    if (std::abs(now.period_ns - before.period_ns) > kRoundingNs) return false;
    if (std::abs(now.lag_ns - before.lag_ns) > kRoundingNs * tasks) return false;
  }
  return true;
}

}  // namespace

std::optional<std::size_t> steady_cycle(std::span<const FinishedIteration> iterations,
                                        std::int64_t tasks) {
  for (std::size_t cycle = 1; cycle <= 4; ++cycle)
    if (repeats(iterations, cycle, tasks)) return cycle;
  return std::nullopt;
}

}  // namespace hocket
