#pragma once

// Detects when a simulation has become steady. Pure.

#include <cstdint>
#include <optional>
#include <span>

namespace hocket {

/// A finished iteration. Equal periods alone do not mean that a simulation is steady: work that
/// still catches up can be hidden behind other work for a while. The lag shows it.
struct FinishedIteration {
  std::int64_t period_ns = 0;  ///< time since the end of the previous iteration
  std::int64_t lag_ns = 0;     ///< time from each task's end to the iteration's end, summed
};

/// Returns the length, 1 to 4 iterations, of a cycle that the last iterations have repeated three
/// times, or nothing when they are not steady yet. `tasks` is the number of terms in a lag.
std::optional<std::size_t> steady_cycle(std::span<const FinishedIteration> iterations,
                                        std::int64_t tasks);

}  // namespace hocket
