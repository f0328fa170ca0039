#pragma once

// Explains a finished search: which parameters matter, how well the model predicts, what it
// believes along each parameter, and which part of the space failures rule out. Uses no store and
// no clock; equal input and equal seed give equal output. Thread-safe.
//
// The model is fitted to the completed trials, on logarithms if all values are positive. It is a
// Gaussian process unless the caller chooses another, even where the search simulates: its beliefs
// are alike for all points, while the simulator settles for bounds away from the best. Importance
// is measured on the model's mean over points that fill the space: the variance-based indices of
// Saltelli et al., Comput. Phys. Commun. 2010, by Jansen's estimators (table 2, b and f). They
// equal the functional ANOVA of Hutter et al., ICML 2014, with a different surrogate.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tuner/search/search.h"
#include "tuner/surrogate/surrogate.h"
#include "tuner/trial/trial.h"

namespace hocket {

/// Shares of the variance of the model's mean over the space.
struct ParameterImportance {
  std::string name;
  /// Share that this parameter explains by itself; all shares add up to at most 1.
  double alone = 0;
  double total = 0;  ///< including interactions with other parameters; from `alone` to 1
};

/// A trial, and the prediction of a model fitted to all other trials.
struct LeftOut {
  std::int64_t number = 0;  ///< as people know it
  double measured = 0, expected = 0;
  double low = 0, high = 0;  ///< bounds of the interval that should hold 90 % of measurements
};

struct LeaveOneOut {
  std::vector<LeftOut> trials;
  double coverage = 0;          ///< share of trials inside their interval
  double rank_correlation = 0;  ///< Kendall's τ-b of measured and expected
};

/// The model's belief at one value of a parameter, on the scale of the values: the mean, and one
/// standard deviation to either side.
struct BelievedPoint {
  ParameterValue value;
  double expected = 0, low = 0, high = 0;
  double completes = 1;  ///< probability that a trial there completes
};

/// Beliefs along one parameter, with the other parameters at the recommendation. Omits points that
/// constraints exclude.
struct BeliefSlice {
  std::string name;
  std::vector<BelievedPoint> points;
};

/// Beliefs over two parameters, with the others at the recommendation.
struct BeliefSurface {
  std::string x, y;
  std::vector<ParameterValue> xs, ys;
  /// One row for each of `ys`; nothing at points that constraints exclude.
  std::vector<std::vector<std::optional<double>>> expected;
};

class FittedModel;

struct Explanation {
  std::string basis;  ///< the surrogate's basis(), for people
  std::size_t completed = 0, failed = 0;
  std::size_t modelled = 0;  ///< completed trials to which the model was fitted
  /// Standard deviation of the model's mean over the space: relative if `relative`, otherwise on
  /// the scale of the values.
  double variation = 0;
  bool relative = true;                          ///< true if all values are positive
  std::vector<ParameterImportance> importances;  ///< most important first
  /// Present only for kFewestCalibrated to kMostCalibrated completed trials.
  std::optional<LeaveOneOut> calibration;
  Recommendation recommendation;
  std::vector<BeliefSlice> slices;  ///< in the order of the space
  /// Over the two most important parameters; only if two have more than one value.
  std::optional<BeliefSurface> surface;
  double rejected = 0;  ///< share of the space that failures rule out
  /// The model that surface_over() asks (tuner/explain/surface.h); never null after
  /// explain_search().
  std::shared_ptr<const FittedModel> model;
};

struct ExplanationOptions {
  /// Returns an unfitted surrogate on every call; if absent, a Gaussian process of the values as
  /// they are (tuner/surrogate/gaussian_surrogate.h).
  std::function<std::unique_ptr<Surrogate>()> make_surrogate = {};
  std::uint64_t seed = 0;
  /// Says whether the values, which are as measured, are minimised.
  Direction direction = Direction::minimise;
  /// The search's own recommendation; if absent, the completed setting with the lowest mean plus
  /// deviation, of costs.
  std::optional<Recommendation> recommendation = {};
};

/// Range of the number of completed trials for which leave-one-out calibration runs.
inline constexpr std::size_t kFewestCalibrated = 3, kMostCalibrated = 60;
/// Completed trials to which a model is fitted; if there are more, this many are drawn, including
/// the best one.
inline constexpr std::size_t kMostModelled = 250;

/// Explains the search by its trials, all of which have ended. invalid_argument names the trial
/// that lies outside the space or has no finite value, or reports that fewer than two trials
/// completed.
Result<Explanation> explain_search(const Space& space, std::span<const Trial> trials,
                                   const ExplanationOptions& options);

}  // namespace hocket
