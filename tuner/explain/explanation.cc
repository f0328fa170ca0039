#include "tuner/explain/explanation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include "core/base/statistics.h"
#include "tuner/explain/fitted_model.h"
#include "tuner/explain/surface.h"
#include "tuner/space/sobol_sequence.h"
#include "tuner/study/study_session.h"
#include "tuner/surrogate/feasibility.h"
#include "tuner/surrogate/gaussian_surrogate.h"

namespace hocket {
namespace {

/// Pairs of points for the importance, and the number examined if constraints exclude some.
constexpr std::size_t kPairs = 512, kMostLookedAt = 16 * kPairs;
constexpr std::size_t kSlicePoints = 41;
/// Standard deviations within which 90 % of a normal distribution lies.
constexpr double kWithin90 = 1.6449;

/// Clamps infinite values to the largest finite number.
double finite(double value) {
  constexpr double kMost = std::numeric_limits<double>::max();
  return std::clamp(value, -kMost, kMost);
}

struct Modelled {
  std::int64_t number = 0;
  double value = 0;  ///< the measured value, not on the scale of the model
  Observation observation;
};

class Explainer {
 public:
  Explainer(const Space& space, const ExplanationOptions& options)
      : space_(space), options_(options), feasibility_(space) {}

  Result<void> read(std::span<const Trial> trials);
  Explanation explain();

 private:
  /// Allowed points that fill the space, each paired with an independent one.
  struct Pairs {
    std::vector<UnitPoint> a, b;
  };
  /// The model's means at the pairs, minus `centre` and divided by `scale`.
  struct Means {
    Eigen::VectorXd a, b;
    double centre = 0, scale = 1, variance = 0;
  };

  void keep_some();
  bool all_equal() const;
  void fit();
  Pairs pairs() const;
  double rejected(const std::vector<UnitPoint>& points) const;
  Means means_of(const Pairs& pairs);
  ParameterImportance importance(std::size_t dimension, const Pairs& pairs, const Means& means);
  void add_importances(Explanation& explanation);
  LeaveOneOut calibrate() const;
  Recommendation recommend();
  BeliefSlice slice(std::size_t dimension, const Params& centre);

  const Space& space_;
  const ExplanationOptions& options_;
  Feasibility feasibility_;
  std::vector<Modelled> modelled_;
  std::size_t completed_ = 0, failed_ = 0;
  bool relative_ = true;
  std::string basis_;
  std::shared_ptr<const FittedModel> model_;
};

Result<void> Explainer::read(std::span<const Trial> trials) {
  for (const Trial& trial : trials) {
    const Evaluation told = evaluation_of(trial.params, trial.outcome);
    const auto& value = told.value;
    const double standard_error = told.standard_error;
    const std::string where = "trial " + std::to_string(shown_number(trial));
    const auto admitted = space_.admit(trial.params);
    if (!admitted) return failure(admitted.error().in(where));
    if (value && (!std::isfinite(*value) || !std::isfinite(standard_error) || standard_error < 0)) {
      return failure(ErrorCode::invalid_argument,
                     where + ": expected a finite value with a standard error of at least 0");
    }
    const UnitPoint point = space_.encode(*admitted);
    feasibility_.tell(point, value.has_value());
    if (!value) {
      ++failed_;
      continue;
    }
    ++completed_;
    relative_ = relative_ && *value > 0;
    modelled_.push_back({shown_number(trial), *value, {point, *value, standard_error}});
  }
  if (completed_ < 2) {
    return failure(ErrorCode::invalid_argument,
                   std::to_string(completed_) + " of " + std::to_string(trials.size()) +
                       " trials of the search completed; an explanation takes at least 2");
  }
  if (relative_) {
    for (Modelled& trial : modelled_) {
      trial.observation.value = std::log(trial.value);
      trial.observation.standard_error =
          std::min(1.0, trial.observation.standard_error / trial.value);
    }
  }
  keep_some();
  return {};
}

void Explainer::keep_some() {
  if (modelled_.size() <= kMostModelled) return;
  const auto best = std::ranges::min_element(
      modelled_, {}, [&](const Modelled& m) { return cost(m.value, options_.direction); });
  std::iter_swap(modelled_.begin(), best);
  std::mt19937_64 random(options_.seed);
  for (std::size_t i = 1; i < kMostModelled; ++i) {
    std::swap(modelled_[i], modelled_[i + random() % (modelled_.size() - i)]);
  }
  modelled_.resize(kMostModelled);
  std::ranges::sort(modelled_, {}, &Modelled::number);
}

bool Explainer::all_equal() const {
  return std::ranges::all_of(modelled_,
                             [&](const Modelled& m) { return m.value == modelled_[0].value; });
}

void Explainer::fit() {
  std::vector<Observation> told;
  for (const Modelled& trial : modelled_) told.push_back(trial.observation);
  auto surrogate = options_.make_surrogate();
  surrogate->fit(told, {});
  basis_ = surrogate->basis();
  model_ = std::make_shared<FittedModel>(std::move(surrogate), relative_);
}

Explainer::Pairs Explainer::pairs() const {
  const std::size_t dimensions = space_.parameters().size();
  Pairs pairs;
  // The two halves of a point of twice the dimensions are independent points.
  for (const auto& both : sobol_points(2 * dimensions, 0, kMostLookedAt, options_.seed)) {
    const auto middle = both.begin() + static_cast<std::ptrdiff_t>(dimensions);
    UnitPoint a = space_.snap({both.begin(), middle});
    UnitPoint b = space_.snap({middle, both.end()});
    if (!space_.allows(a) || !space_.allows(b)) continue;
    pairs.a.push_back(std::move(a));
    pairs.b.push_back(std::move(b));
    if (pairs.a.size() == kPairs) break;
  }
  return pairs;
}

double Explainer::rejected(const std::vector<UnitPoint>& points) const {
  if (points.empty()) return 0;
  const auto count = std::ranges::count_if(
      points, [&](const UnitPoint& point) { return feasibility_.probability(point) < kUnlikely; });
  return static_cast<double>(count) / static_cast<double>(points.size());
}

ParameterImportance Explainer::importance(std::size_t dimension, const Pairs& pairs,
                                          const Means& means) {
  ParameterImportance importance{space_.parameters()[dimension].name, 0, 0};
  std::vector<UnitPoint> moved;
  std::vector<Eigen::Index> rows;
  for (std::size_t i = 0; i < pairs.a.size(); ++i) {
    UnitPoint point = pairs.a[i];
    point[dimension] = pairs.b[i][dimension];
    if (!space_.allows(point)) continue;
    moved.push_back(std::move(point));
    rows.push_back(static_cast<Eigen::Index>(i));
  }
  if (moved.empty() || !(means.variance > 0)) return importance;
  const Eigen::VectorXd mean = (model_->believe(moved).mean.array() - means.centre) / means.scale;
  const double count = static_cast<double>(rows.size());
  const double from_a = (mean - means.a(rows)).squaredNorm() / count;
  const double from_b = (mean - means.b(rows)).squaredNorm() / count;
  importance.total = std::clamp(from_a / (2 * means.variance), 0.0, 1.0);
  importance.alone = std::clamp(1 - from_b / (2 * means.variance), 0.0, importance.total);
  return importance;
}

Explainer::Means Explainer::means_of(const Pairs& pairs) {
  Means means{model_->believe(pairs.a).mean, model_->believe(pairs.b).mean};
  if (pairs.a.empty() || all_equal()) return means;
  means.centre = means.a.mean();
  // Scaling keeps squares of huge values finite and those of tiny values above 0.
  means.scale = std::max((means.a.array() - means.centre).abs().maxCoeff(),
                         (means.b.array() - means.centre).abs().maxCoeff());
  if (!(means.scale > 0) || !std::isfinite(means.scale)) return means;
  means.a = (means.a.array() - means.centre) / means.scale;
  means.b = (means.b.array() - means.centre) / means.scale;
  const double mean = (means.a.mean() + means.b.mean()) / 2;
  means.variance =
      ((means.a.array() - mean).square().mean() + (means.b.array() - mean).square().mean()) / 2;
  return means;
}

void Explainer::add_importances(Explanation& explanation) {
  const Pairs pairs = this->pairs();
  const Means means = means_of(pairs);
  explanation.rejected = rejected(pairs.a);
  if (means.variance > 0) explanation.variation = finite(std::sqrt(means.variance) * means.scale);
  double sum = 0;
  for (std::size_t k = 0; k < space_.parameters().size(); ++k) {
    explanation.importances.push_back(importance(k, pairs, means));
    sum += explanation.importances.back().alone;
  }
  // Estimated shares that cover the whole variance may add up to slightly more than 1.
  if (sum > 1) {
    for (auto& importance : explanation.importances) importance.alone /= sum;
  }
  std::ranges::stable_sort(explanation.importances, std::greater(), &ParameterImportance::total);
}

LeaveOneOut Explainer::calibrate() const {
  LeaveOneOut calibration;
  std::vector<double> measured, expected;
  for (std::size_t left_out = 0; left_out < modelled_.size(); ++left_out) {
    std::vector<Observation> others;
    for (std::size_t i = 0; i < modelled_.size(); ++i) {
      if (i != left_out) others.push_back(modelled_[i].observation);
    }
    const auto& [number, value, observation] = modelled_[left_out];
    const auto surrogate = options_.make_surrogate();
    surrogate->fit(others, {});
    const Belief belief = surrogate->believe({&observation.point, 1});
    const double mean = belief.mean[0];
    // A measurement scatters around the believed mean of its point.
    const double within =
        kWithin90 * std::hypot(belief.deviation[0], surrogate->noise(), observation.standard_error);
    calibration.trials.push_back({number, value, model_->on_scale(mean),
                                  model_->on_scale(mean - within),
                                  model_->on_scale(mean + within)});
    if (std::abs(observation.value - mean) <= within) calibration.coverage += 1;
    measured.push_back(value);
    expected.push_back(mean);
  }
  calibration.coverage /= static_cast<double>(modelled_.size());
  calibration.rank_correlation = kendall_tau_b(measured, expected);
  return calibration;
}

Recommendation Explainer::recommend() {
  if (options_.recommendation) return *options_.recommendation;
  std::vector<UnitPoint> points;
  for (const Modelled& trial : modelled_) points.push_back(trial.observation.point);
  const Belief belief = model_->believe(points);
  Eigen::Index best = 0;
  (cost(1, options_.direction) * belief.mean + kCaution * belief.deviation).minCoeff(&best);
  Recommendation recommendation{space_.decode(points[static_cast<std::size_t>(best)]),
                                model_->on_scale(belief.mean[best]), belief.deviation[best],
                                "of the completed settings, the lowest mean plus deviation"};
  if (relative_)
    recommendation.deviation = finite(recommendation.deviation * recommendation.expected);
  return recommendation;
}

BeliefSlice Explainer::slice(std::size_t dimension, const Params& centre) {
  const Parameter& parameter = space_.parameters()[dimension];
  BeliefSlice slice{parameter.name, {}};
  std::vector<UnitPoint> points;
  for (auto& value : values_along(parameter.domain, kSlicePoints)) {
    Params params = centre;
    params[parameter.name] = value;
    if (!space_.allows(params)) continue;
    points.push_back(space_.encode(params));
    slice.points.push_back({std::move(value)});
  }
  const Belief belief = model_->believe(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double mean = belief.mean[row], deviation = belief.deviation[row];
    auto& point = slice.points[i];
    point.expected = model_->on_scale(mean);
    point.low = model_->on_scale(mean - deviation);
    point.high = model_->on_scale(mean + deviation);
    point.completes = feasibility_.probability(points[i]);
  }
  return slice;
}

Explanation Explainer::explain() {
  fit();
  Explanation explanation;
  explanation.basis = basis_;
  explanation.model = model_;
  explanation.completed = completed_;
  explanation.failed = failed_;
  explanation.modelled = modelled_.size();
  explanation.relative = relative_;
  explanation.recommendation = recommend();
  add_importances(explanation);
  if (completed_ >= kFewestCalibrated && completed_ <= kMostCalibrated) {
    explanation.calibration = calibrate();
  }
  for (std::size_t k = 0; k < space_.parameters().size(); ++k) {
    explanation.slices.push_back(slice(k, explanation.recommendation.params));
  }
  const auto varying = varying_parameters(space_, explanation);
  if (varying.size() >= 2)
    explanation.surface = surface_over(space_, explanation, varying[0], varying[1]).value();
  return explanation;
}

}  // namespace

Result<Explanation> explain_search(const Space& space, std::span<const Trial> trials,
                                   const ExplanationOptions& options) {
  ExplanationOptions checked = options;
  if (!checked.make_surrogate) {
    checked.make_surrogate = [&] {
      return std::make_unique<GaussianSurrogate>(space, ValueWarp::none);
    };
  }
  if (checked.recommendation) {
    auto params = space.admit(checked.recommendation->params);
    if (!params) return failure(params.error().in("the recommendation"));
    checked.recommendation->params = std::move(*params);
  }
  Explainer explainer(space, checked);
  HOCKET_TRY(explainer.read(trials));
  return explainer.explain();
}

}  // namespace hocket
