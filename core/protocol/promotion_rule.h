#pragma once

// Whether a winner beats the default by more than the noise. Pure function; thread-safe.
//
// The rule. Both are run again in pairs, and only those runs count: the search picked the winner
// for its luck too. The gain of a pair is log(default / winner). After each pair from the second
// on, the winner is better when the one-sided lower confidence bound of the mean gain is above 0,
//     mean − t(1 − α, pairs − 1) · e > 0,
// with Student's t and e the larger of the standard error between the pairs and the standard error
// that the noise within the runs alone would give (pooled, core/base/statistics.h). The second
// keeps a few pairs that agree by chance from looking exact. At least two pairs are needed.
//
// Who looks again after each pair is fooled more often than who looks once. So all looks have one
// level, as Pocock has it (Biometrika 1977), here α = 0.05 / L^0.8 with L = most pairs − 1: of two
// equal settings one is promoted in at most 5 % of studies, however often was looked.
// The winner is worse when the upper bound is not above 0, at 80 % each time: who errs there keeps
// the default, which does no harm.
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

/// How much less the winner's runs have than the default's.
struct PairedGain {
  double mean = 0;  ///< of log(default / winner)
  /// Of the mean: the larger of what the pairs and what the noise within them tell; 0 with fewer
  /// than two pairs.
  double error = 0;
  std::size_t pairs = 0;
  bool is_log = true;  ///< false: of differences in units of the mean absolute default

  /// Half the width of the interval around the mean whose one-sided confidence is `confidence`, by
  /// Student's t. 0 with fewer than two pairs.
  double doubt(double confidence) const;
  /// A gain as a share of the default's value: 0.2 is "20 % less".
  double share(double gain) const;
};

/// Requires as many runs of the default as of the winner, the i-th of each being a pair.
PairedGain paired_gain(std::span<const ConfirmationRun> default_runs,
                       std::span<const ConfirmationRun> winner_runs);

/// Error that each of the looks after pair 2, 3, … `most_pairs` may make, so that all together make
/// one in 5 % of cases.
double look_level(int most_pairs);

struct Verdict {
  bool better = false, worse = false;
  /// The share of the default's value that the winner saves: 0.2 is "20 % less". 0 without pairs.
  double gain = 0;
  /// The gain that has to be exceeded, in the same unit; 0 with fewer than two pairs.
  double noise = 0;

  /// No further pair is needed.
  bool is_decided() const { return better || worse; }
};

/// Pairs that a promotion takes.
inline constexpr int kFewestPairs = 2;

/// As paired_gain(). Requires the same `most_pairs` at each look.
Verdict compare(std::span<const ConfirmationRun> default_runs,
                std::span<const ConfirmationRun> winner_runs, int most_pairs);

}  // namespace hocket
