#pragma once

// Measures how long the model-based search takes to choose the next trial, on a space of four
// parameters. One thread.

#include <cstddef>
#include <string>
#include <vector>

namespace hocket {

struct AskTimes {
  std::string space;
  std::size_t trials = 0;  ///< trials told before
  std::size_t asks = 0;    ///< measured asks
  double median_ms = 0, p99_ms = 0;
};

/// Measures asks after 40 and after 400 trials of a smooth function with 3 % noise: for the lattice
/// of a recorded sweep and for ranges, both of which the simulator cannot model, and for the
/// lattice of the scheduler's knobs, which it can; the last after 40 trials only.
std::vector<AskTimes> measure_asks(std::size_t seeds);

}  // namespace hocket
