#pragma once

// When a simulation has settled. Pure.

#include <cstdint>
#include <optional>
#include <span>

namespace hocket {

/// A finished iteration. Equal periods alone do not mean that a simulation has settled: work that
/// still catches up may hide behind other work for a while. It shows in the lag.
struct FinishedIteration {
  std::int64_t period_ns = 0;  ///< since the end of the one before
  std::int64_t lag_ns = 0;     ///< how long before the iteration's end its tasks ended, summed
};

/// How many of the last iterations make one cycle that has come round three times: 1 to 4, or
/// nothing when they have not settled yet. `tasks` is how many times a lag adds up.
std::optional<std::size_t> steady_cycle(std::span<const FinishedIteration> iterations,
                                        std::int64_t tasks);

}  // namespace hocket
