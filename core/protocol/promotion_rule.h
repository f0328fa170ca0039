#pragma once

// Decides whether the winner of a study beats the default by more than the noise. Pure function;
// thread-safe.
//
// Both are run again in pairs, and only these confirmation runs count: the search selected the
// winner partly for its luck. The gain of a pair is log(default / winner). From the second pair on,
// the winner is better when the one-sided lower confidence bound of the mean gain is above 0,
//     mean − t(1 − α, pairs − 1) · e > 0,
// with Student's t and e the larger of two standard errors: that between the pairs, and that which
// the noise within the runs alone implies (pooled, core/base/statistics.h). The second keeps a few
// pairs that agree by chance from looking exact. At least two pairs are needed.
//
// Testing after each pair raises the rate of false positives above that of a single test. All tests
// therefore use one level, as in Pocock (Biometrika 1977), here α = 0.05 / L^0.8 with L = most
// pairs − 1: a setting equal to the default is promoted in at most 5 % of studies, however many
// tests are made.
//
// The winner is worse when the upper confidence bound is not above 0, at 80 % in each test: an
// error here keeps the default, which does no harm.
//
// If any value is 0 or negative it has no logarithm; gains are then differences in units of the
// mean absolute default.

#include <cstddef>
#include <span>

namespace hocket {

/// One confirmation run.
struct ConfirmationRun {
  double value = 0;
  /// Spread within the run.
  double spread = 0;
  std::size_t samples = 0;
};

/// Reduction from the default's runs to the winner's.
struct PairedGain {
  /// Mean of log(default / winner).
  double mean = 0;
  /// Standard error of the mean: the larger of the error between the pairs and the error that the
  /// noise within the runs implies; 0 with fewer than two pairs.
  double error = 0;
  std::size_t pairs = 0;
  /// False: gains are differences in units of the mean absolute default.
  bool is_log = true;

  /// Returns half the width of the interval around the mean whose one-sided confidence is
  /// `confidence`, by Student's t. 0 with fewer than two pairs.
  double doubt(double confidence) const;
  /// Converts a gain to a share of the default's value: 0.2 is "20 % less".
  double share(double gain) const;
};

/// Computes the gain of the winner. Requires equally many runs of the default and of the winner;
/// the i-th of each form a pair.
PairedGain paired_gain(std::span<const ConfirmationRun> default_runs,
                       std::span<const ConfirmationRun> winner_runs);

/// Returns the error rate allowed to each of the tests after pair 2, 3, … `most_pairs`, so that all
/// of them together err in at most 5 % of cases.
double look_level(int most_pairs);

struct Verdict {
  bool better = false, worse = false;
  /// Share of the default's value that the winner saves: 0.2 is "20 % less". 0 without pairs.
  double gain = 0;
  /// Gain that must be exceeded, in the same unit; 0 with fewer than two pairs.
  double noise = 0;

  /// Returns true when no further pair is needed.
  bool is_decided() const { return better || worse; }
};

/// Minimum pairs for a promotion.
inline constexpr int kFewestPairs = 2;

/// Compares the winner with the default. Requires the runs to be as in paired_gain() and the same
/// `most_pairs` in each test.
Verdict compare(std::span<const ConfirmationRun> default_runs,
                std::span<const ConfirmationRun> winner_runs, int most_pairs);

}  // namespace hocket
