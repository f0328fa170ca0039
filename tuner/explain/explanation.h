#pragma once

// What a finished search knows: which parameters matter, how well the model predicts, what it
// believes along each parameter, and what failures rule out. No store and no clock; equal input and
// equal seed give equal output. Thread-safe.
//
// Beliefs are the caller's kind of surrogate, fitted to the trials that have a value, on logarithms
// where all values are positive. Importance is measured on its mean over points that fill the
// space: the variance-based indices of Saltelli et al., Comput. Phys. Commun. 2010, by Jansen's
// estimators (table 2, b and f). They are the functional ANOVA of Hutter et al., ICML 2014, with
// another surrogate.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/search/search.h"
#include "tuner/surrogate/surrogate.h"

namespace hocket {

struct SearchTrial {
  std::int64_t number = 0;  ///< as people count it
  Evaluation evaluation;
  std::string message = {};  ///< why it failed
};

/// Shares of the variance of the model's mean over the space.
struct ParameterImportance {
  std::string name;
  double alone = 0;  ///< what this parameter explains by itself; they add up to at most 1
  double total = 0;  ///< with what it does together with others; from `alone` to 1
};

/// A trial, and what the model fitted to all the others expected of it.
struct LeftOut {
  std::int64_t number = 0;
  double measured = 0, expected = 0;
  double low = 0, high = 0;  ///< the interval that should hold 90 % of measurements
};

struct LeaveOneOut {
  std::vector<LeftOut> trials;
  double coverage = 0;          ///< share of trials inside their interval
  double rank_correlation = 0;  ///< Kendall's τ-b of measured and expected
};

/// A belief, on the scale of the values: the mean and a standard deviation to either side.
struct BelievedPoint {
  ParameterValue value;
  double expected = 0, low = 0, high = 0;
  double completes = 1;  ///< probability that a trial there completes
};

/// Along one parameter, the others as recommended; without what constraints exclude.
struct Slice {
  std::string name;
  std::vector<BelievedPoint> points;
};

/// Over the two most important parameters, the others as recommended.
struct Surface {
  std::string x, y;
  std::vector<ParameterValue> xs, ys;
  /// A row for each of `ys`; nothing where constraints exclude the point.
  std::vector<std::vector<std::optional<double>>> expected;
};

struct Explanation {
  std::string basis;  ///< of the beliefs
  std::size_t completed = 0, failed = 0;
  std::size_t modelled = 0;  ///< of the completed ones, those the model was fitted to
  /// Standard deviation of the model's mean over the space: relative where `relative`, else on the
  /// scale of the values.
  double variation = 0;
  bool relative = true;                          ///< all values are positive
  std::vector<ParameterImportance> importances;  ///< the most important first
  std::optional<LeaveOneOut> calibration;        ///< nothing outside kCalibrated trials
  Recommendation recommendation;
  std::vector<Slice> slices;       ///< in the order of the space
  std::optional<Surface> surface;  ///< where two parameters have more than one value
  double rejected = 0;             ///< share of the space that failures rule out
};

struct ExplanationOptions {
  /// A surrogate that has learned nothing, each time.
  std::function<std::unique_ptr<Surrogate>()> make_surrogate;
  std::uint64_t seed = 0;
  /// What the search recommends; else the completed setting with the best doubted mean.
  std::optional<Recommendation> recommendation = {};
};

/// Completed trials with which each is left out once.
inline constexpr std::size_t kFewestCalibrated = 3, kMostCalibrated = 60;
/// Completed trials that a model is fitted to; of more, these many are drawn, the best among them.
inline constexpr std::size_t kMostModelled = 250;

/// invalid_argument names the trial that lies outside the space or has no finite value, or says
/// that fewer than two trials completed.
Result<Explanation> explain(const Space& space, std::span<const SearchTrial> trials,
                            const ExplanationOptions& options);

}  // namespace hocket
