#pragma once

// How long the model-based search thinks about what to try next, on a space of four parameters.

#include <cstddef>
#include <string>
#include <vector>

namespace hocket {

struct AskTimes {
  std::string space;
  std::size_t trials = 0;  ///< that were told before
  std::size_t asks = 0;    ///< that were measured
  double median_ms = 0, p99_ms = 0;
};

/// After 40 and after 400 trials of a smooth function with 3 % of noise: for a recorded sweep's
/// lattice and for ranges, both unknown to the simulator, and for the lattice as the scheduler's
/// knobs, which the simulator models; the last after 40 only.
std::vector<AskTimes> measure_asks(std::size_t seeds);

}  // namespace hocket
