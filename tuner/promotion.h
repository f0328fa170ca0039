#pragma once

// Whether a winner beats the default by more than the noise. Pure function; thread-safe.
//
// The rule. Both are run again in pairs, and only those runs count: the search picked the winner
// for its luck too. The gain of a pair is log(default / winner). The winner is better when the
// one-sided 95 % lower confidence bound of the mean gain is above 0,
//     mean − t(0.95, pairs − 1) · e > 0,
// with Student's t and e the larger of the standard error between the pairs and the standard error
// that the noise within the runs alone would give (pooled, tuner/statistics.h). The second keeps a
// few pairs that agree by chance from looking exact. At least two pairs are needed. Of two equal
// settings one is promoted in at most 5 % of studies.
// Where a value is 0 or negative there is no logarithm: gains are then differences in units of the
// mean absolute default.

#include <cstddef>
#include <span>

namespace hocket {

/// One confirmation run.
struct ConfirmationRun {
  double value = 0;
  double spread = 0;  ///< within the run
  std::size_t samples = 0;
};

struct Verdict {
  bool better = false;
  /// The share of the default's value that the winner saves: 0.2 is "20 % less". 0 without pairs.
  double gain = 0;
  /// The gain that has to be exceeded, in the same unit; 0 with fewer than two pairs.
  double noise = 0;
};

/// Requires as many runs of the default as of the winner; the i-th of each form a pair.
Verdict compare(std::span<const ConfirmationRun> default_runs,
                std::span<const ConfirmationRun> winner_runs);

}  // namespace hocket
