#pragma once

// Decides whether the winner of a study beats the default by more than the noise. Pure function;
// thread-safe.
//
// Both are run again in pairs, and only these confirmation runs count: the search selected the
// winner partly for its luck. The gain of a pair is log(default / winner), or log(winner / default)
// where more is better. From the second pair on, the winner is better when a lower confidence bound
// of the mean gain is above 0,
//     mean − t(1 − α, f) · e > 0,
// with Student's t. There are two such bounds, which share the error α, and the higher one counts:
// - e from the scatter of the gains between pairs, with f = pairs − 1. A drift of the machine that
//   both runs of a pair have in common does not count.
// - e from the scatter of the logarithms among the runs of each setting, with
//   f = 2 (pairs − 1), as in Student's test of two samples. Twice the degrees of freedom make two
//   pairs enough where the gap is many times the scatter (t(0.99, 1) is 31.8, t(0.99, 2) is 7.0).
// Either e is at least the error which the noise within the runs alone implies (pooled,
// core/base/statistics.h); this keeps a few runs that agree by chance from looking exact.
//
// Testing after each pair raises the rate of false positives above that of a single test. All tests
// therefore use one level, as in Pocock (Biometrika 1977), here α = 0.05 / L^0.8 with L = most
// pairs − 1, and 1 / 2^0.8 of that for each of the two bounds: a setting equal to the default is
// promoted in at most 5 % of studies, however many tests are made. The test of two samples takes
// the scatter of both settings to be equal, as that of equal settings is: a setting that is as good
// on average but has a tenth of the default's scatter is promoted in at most 8 %.
//
// The interval of the gain is a repeated confidence interval (Jennison and Turnbull, Journal of the
// Royal Statistical Society B 1989): it extends by the same t · e to either side of the mean, so
// that it excludes 0 when the winner is better, and holds the true gain with 90 % confidence
// (5 % to either side) although the number of pairs depends on what was measured.
//
// The winner is worse when the upper bound is not above 0, at 80 % in each test and by the larger
// e: an error here keeps the default, which does no harm.
//
// If any value is 0 or negative it has no logarithm; gains are then differences in units of the
// mean absolute default.

#include <cstddef>
#include <span>

#include "core/protocol/direction.h"

namespace hocket {

/// One confirmation run.
struct ConfirmationRun {
  double value = 0;
  /// Spread within the run.
  double spread = 0;
  std::size_t samples = 0;
};

/// The winner's advantage over the default.
struct PairedGain {
  /// Mean of log(default / winner), or of log(winner / default) where more is better.
  double mean = 0;
  /// Standard error of the mean: the larger of the error between the pairs and the error that the
  /// noise within the runs implies; 0 with fewer than two pairs.
  double error = 0;
  /// The same from the scatter among the runs of each setting in place of that between the pairs.
  double error_of_runs = 0;
  std::size_t pairs = 0;
  /// False: gains are differences in units of the mean absolute default.
  bool is_log = true;
  Direction direction = Direction::minimise;

  /// Returns half the width of the interval around the mean whose one-sided confidence is
  /// `confidence`, by Student's t and `error`. 0 with fewer than two pairs.
  double doubt(double confidence) const;
  /// The same by `error_of_runs`, with twice the degrees of freedom.
  double doubt_of_runs(double confidence) const;
  /// Converts a gain to a share of the default's value: 0.2 is "20 % less", or "20 % more" where
  /// more is better.
  double share(double gain) const;
};

/// Computes the gain of the winner. Requires equally many runs of the default and of the winner;
/// the i-th of each form a pair.
PairedGain paired_gain(std::span<const ConfirmationRun> default_runs,
                       std::span<const ConfirmationRun> winner_runs,
                       Direction direction = Direction::minimise);

/// Returns the error rate allowed to each of the tests after pair 2, 3, … `most_pairs`, so that all
/// of them together err in at most 5 % of cases.
double look_level(int most_pairs);

/// Bounds of a gain, as shares of the default's value.
struct GainInterval {
  double low = 0, high = 0;

  bool operator==(const GainInterval&) const = default;
};

/// Confidence of the interval of a gain.
inline constexpr double kGainConfidence = 0.9;

struct PromotionVerdict {
  bool better = false, worse = false;
  /// Share of the default's value that the winner saves: 0.2 is "20 % less", or "20 % more" where
  /// more is better. 0 without pairs.
  double gain = 0;
  /// Gain that must be exceeded, in the same unit; 0 with fewer than two pairs.
  double needed = 0;
  /// Confidence interval of the gain, at kGainConfidence; 0 with fewer than two pairs.
  GainInterval interval = {};

  /// Returns true when no further pair is needed.
  bool is_decided() const { return better || worse; }
};

/// Minimum pairs for a promotion.
inline constexpr int kFewestPairs = 2;

/// Compares the winner with the default. Requires the runs to be as in paired_gain() and the same
/// `most_pairs` in each test. `error_share` is the share of the permitted error that this
/// comparison may use up, where several stand for one claim.
PromotionVerdict promotion_verdict(std::span<const ConfirmationRun> default_runs,
                                   std::span<const ConfirmationRun> winner_runs, int most_pairs,
                                   Direction direction = Direction::minimise,
                                   double error_share = 1);

}  // namespace hocket
