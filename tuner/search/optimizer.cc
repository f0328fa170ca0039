#include "tuner/search/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "tuner/search/transfer.h"
#include "tuner/surrogate/gaussian_surrogate.h"
#include "tuner/surrogate/step_mixture.h"

namespace hocket {
namespace {

/// Standard deviations below the mean at which a simulated point is scored, for a described and for
/// a nominal step.
constexpr double kOptimism = 1, kNominalOptimism = 2;
/// Standard deviations to either side of the mean within which values are believed to lie.
constexpr double kRegretDeviations = 2;
/// If a logarithm was measured lower than the belief at any point by this much, the model is wrong.
constexpr double kClearlyLower = 0.15;
/// Penalty larger than any score, for points that are unlikely to complete.
constexpr double kAskedLast = 1e6;
/// Number of best observed points from which the acquisition function is also climbed.
constexpr std::size_t kKnownStarts = 3;
/// Fewest filling points in an initial design with a donor's settings.
constexpr std::size_t kFewestFillers = 2;

/// Returns null if the simulator knows no parameter of the space.
std::unique_ptr<Surrogate> make_simulator(const Space& space, std::optional<StepDescription> step) {
  auto models = StepModel::make_possible(space, std::move(step));
  if (!models.empty()) return std::make_unique<StepMixture>(space, std::move(models));
  return nullptr;
}

}  // namespace

Optimizer::Optimizer(Space space, SearchOptions options)
    : space_(std::move(space)),
      seed_(options.seed),
      donor_(options.donor ? std::optional(adapted_donor(*options.donor, space_)) : std::nullopt),
      candidates_(space_),
      feasibility_(space_),
      step_is_described_(options.step.has_value()),
      direction_(options.direction),
      surrogate_(options.simulate ? make_simulator(space_, std::move(options.step)) : nullptr) {
  if (surrogate_) {
    uses_simulator_ = true;
    acquisition_ = confidence_bound(step_is_described_ ? kOptimism : kNominalOptimism);
    design_ = design_with(0);
  } else {
    use_process();
  }
}

void Optimizer::use_process() {
  uses_simulator_ = false;
  if (donor_ && donor_->evaluations.size() >= kLeastTransferValues) {
    surrogate_ = std::make_unique<TransferSurrogate>(space_, *donor_);
  } else {
    surrogate_ = std::make_unique<GaussianSurrogate>(space_);
  }
  acquisition_ = expected_improvement();
  design_ = design_with(fillers_without_model(space_));
}

std::unique_ptr<InitialDesign> Optimizer::design_with(std::size_t fillers) const {
  if (!donor_) return sobol_design(space_, seed_, fillers);
  auto replayed = best_settings(*donor_);
  // The donor's settings replace fillers, but may all lie close together.
  fillers =
      std::min(fillers, std::max(kFewestFillers, fillers - std::min(fillers, replayed.size())));
  return transferred_design(std::move(replayed), replay_reason(*donor_),
                            sobol_design(space_, seed_, fillers));
}

std::optional<Suggestion> Optimizer::ask() {
  if (asked_.size() >= space_.allowed_size()) return std::nullopt;
  const bool has_model = values_ > 0 && asked_.size() >= design_->size();
  auto suggestion = has_model ? next_of_model() : next_of_design();
  if (!suggestion) return suggestion;
  asked_.insert(suggestion->params);
  return suggestion;
}

Result<void> Optimizer::tell(const Evaluation& evaluation) {
  const auto invalid = [](std::string message) {
    return failure(ErrorCode::invalid_argument, std::move(message));
  };
  if (evaluation.value && !std::isfinite(*evaluation.value))
    return invalid("expected a finite value, found " + to_text(*evaluation.value));
  if (!(evaluation.standard_error >= 0) || !std::isfinite(evaluation.standard_error)) {
    return invalid("expected a standard error of at least 0, found " +
                   to_text(evaluation.standard_error));
  }
  const auto params = space_.admit(evaluation.params);
  HOCKET_TRY(params);
  asked_.insert(*params);
  pending_.erase(*params);
  const UnitPoint point = space_.encode(*params);
  told_.push_back({*params, point, evaluation.value, evaluation.standard_error});
  feasibility_.tell(point, evaluation.value.has_value());
  if (evaluation.value) {
    ++values_;
    // Beliefs about pending settings are of the scale before, and only times can be simulated.
    if (scale_.add(*evaluation.value)) {
      pending_.clear();
      use_process();
    }
  }
  survey_.reset();
  return {};
}

std::vector<Observation> Optimizer::observed() const {
  std::vector<Observation> observations;
  for (const Told& told : told_) {
    if (!told.value) continue;
    observations.push_back({told.point, scale_.level(*told.value),
                            scale_.level_error(*told.value, told.standard_error)});
  }
  return observations;
}

std::vector<UnitPoint> Optimizer::best_told() const {
  std::vector<const Told*> told;
  for (const Told& t : told_)
    if (t.value) told.push_back(&t);
  std::ranges::stable_sort(told, {}, [](const Told* t) { return *t->value; });
  std::vector<UnitPoint> points;
  for (const Told* t : told) {
    if (points.size() == kKnownStarts) break;
    if (std::ranges::find(points, t->point) == points.end()) points.push_back(t->point);
  }
  return points;
}

const Optimizer::Survey& Optimizer::survey() const {
  if (survey_) return *survey_;
  std::vector<Observation> pending;
  for (const auto& [params, believed] : pending_) pending.push_back(believed);
  surrogate_->fit(observed(), pending);
  Survey survey;
  if (uses_simulator_) {
    survey.points = candidates_.survey(best_told(), seed_);
  } else {
    for (const Told& told : told_)
      if (told.value) survey.points.push_back(told.point);
  }
  survey.belief = surrogate_->believe(survey.points);
  return survey_.emplace(std::move(survey));
}

std::string Optimizer::describe(double mean, double deviation) const {
  const double shown = cost(scale_.value(mean), direction_);
  if (!scale_.is_relative()) return to_text(shown) + " ± " + to_text(deviation);
  char text[64];
  std::snprintf(text, sizeof text, "%.4g ± ", shown);
  return text + percent(deviation);
}

std::optional<Params> Optimizer::first_unasked() const {
  // Without constraints one of the first asked_.size() + 1 points is new.
  const std::uint64_t limit =
      space_.constraints().empty() ? asked_.size() + 1 : Space::kLatticeLimit;
  for (std::uint64_t index = 0; index < std::min(limit, space_.size()); ++index) {
    Params params = space_.point_at(index);
    if (space_.allows(params) && !asked_.contains(params)) return params;
  }
  return std::nullopt;
}

std::optional<Suggestion> Optimizer::next_of_design() const {
  // Coarse spaces repeat points; beyond this limit enumeration finds the remaining points faster.
  const std::uint64_t limit = asked_.size() + 256;
  for (std::uint64_t index = 0; index < limit; ++index) {
    Params params = design_->point(index);
    if (asked_.contains(params)) continue;
    return Suggestion{std::move(params), design_->reason(index)};
  }
  // A real range counts as infinite even if no further number in it is left.
  if (space_.size() == UINT64_MAX) return std::nullopt;
  auto params = first_unasked();
  if (!params) return std::nullopt;
  return Suggestion{std::move(*params), "the first that was not tried"};
}

std::optional<Suggestion> Optimizer::suggest(const UnitPoint& point, double mean, double deviation,
                                             double incumbent) {
  Params params = space_.decode(point);
  std::string reason = surrogate_->basis() + " expects " + describe(mean, deviation);
  // The pending value carries the uncertainty of its belief in addition to the noise of every
  // measurement.
  pending_[params] = {point, mean, deviation};
  survey_.reset();
  Suggestion suggestion{std::move(params), std::move(reason)};
  // A difference of logarithms is a relative difference.
  const double gain = std::exp(log_expected_improvement(mean, deviation, incumbent));
  if (scale_.is_relative()) {
    suggestion.expected_improvement = gain;
  } else if (incumbent != 0) {
    suggestion.expected_improvement = gain / std::abs(incumbent);
  }
  return suggestion;
}

std::optional<Suggestion> Optimizer::next_of_model() {
  return uses_simulator_ ? next_of_simulator() : next_of_process();
}

std::optional<Suggestion> Optimizer::next_of_simulator() {
  const Survey& looked = survey();
  const double incumbent = believed_of_best_told(looked);
  std::optional<std::size_t> best;
  double best_score = 0;
  for (std::size_t i = 0; i < looked.points.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const double score =
        worth(looked.points[i], looked.belief.mean[row], looked.belief.deviation[row], incumbent);
    if (best && !(score > best_score)) continue;
    if (asked_.contains(space_.decode(looked.points[i]))) continue;
    best = i;
    best_score = score;
  }
  if (!best) return next_of_design();
  const auto row = static_cast<Eigen::Index>(*best);
  return suggest(UnitPoint(looked.points[*best]), looked.belief.mean[row],
                 looked.belief.deviation[row], incumbent);
}

double Optimizer::worth(const UnitPoint& point, double mean, double deviation,
                        double incumbent) const {
  const double completes = feasibility_.probability(point);
  return acquisition_->score({mean, deviation, completes}, incumbent) -
         (completes < kUnlikely ? kAskedLast : 0);
}

double Optimizer::believed_of_best_told(const Survey& looked) const {
  double best = INFINITY;
  for (const Told& told : told_) {
    if (!told.value) continue;
    const auto at = std::ranges::find(looked.points, told.point);
    if (at != looked.points.end())
      best = std::min(best, looked.belief.mean[at - looked.points.begin()]);
  }
  return std::isfinite(best) ? best : looked.belief.mean.minCoeff();
}

std::optional<Suggestion> Optimizer::next_of_process() {
  // The incumbent is the lowest believed mean, not the lowest noisy sample.
  const double incumbent = survey().belief.mean.minCoeff();
  const auto score = [&](std::span<const UnitPoint> points) {
    const Belief belief = surrogate_->believe(points);
    std::vector<double> scores;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      scores.push_back(worth(points[i], belief.mean[row], belief.deviation[row], incumbent));
    }
    return scores;
  };
  for (const auto& point :
       candidates_.ranked(score, best_told(), seed_ + asked_.size(), asked_.size() + 1)) {
    if (asked_.contains(space_.decode(point))) continue;
    const Belief belief = surrogate_->believe({&point, 1});
    return suggest(point, belief.mean[0], belief.deviation[0], incumbent);
  }
  return next_of_design();
}

std::optional<Recommendation> Optimizer::measured_below(double score) const {
  if (!uses_simulator_) return std::nullopt;
  std::map<Params, std::vector<double>> values;
  for (const Told& told : told_)
    if (told.value) values[told.params].push_back(std::log(*told.value));
  const Params* lowest = nullptr;
  double least = score - kClearlyLower;
  for (const auto& [params, logarithms] : values) {
    const double value = mean(logarithms);
    if (!(value < least)) continue;
    least = value;
    lowest = &params;
  }
  if (!lowest) return std::nullopt;
  const double expected = std::exp(least);
  return Recommendation{*lowest, expected, surrogate_->noise() * expected,
                        "measured " + percent(1 - std::exp(least - score)) + " lower than " +
                            surrogate_->basis() + " expects of any"};
}

std::optional<Recommendation> Optimizer::recommend() const {
  if (values_ == 0) return std::nullopt;
  const Survey& looked = survey();
  std::optional<std::size_t> best;
  bool best_completes = false;
  std::set<UnitPoint> completed;
  for (const Told& told : told_)
    if (told.value) completed.insert(told.point);
  double best_score = 0;
  for (std::size_t i = 0; i < looked.points.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const bool completes = completed.contains(looked.points[i]) ||
                           feasibility_.probability(looked.points[i]) >= kUnlikely;
    const double score = looked.belief.mean[row] + kCaution * looked.belief.deviation[row];
    if (best && std::pair(!completes, score) >= std::pair(!best_completes, best_score)) continue;
    best_score = score;
    best = i;
    best_completes = completes;
  }
  HOCKET_CHECK(best.has_value(), "a survey holds what was told");
  if (auto measured = measured_below(best_score)) return measured;
  const auto row = static_cast<Eigen::Index>(*best);
  const double mean = looked.belief.mean[row], deviation = looked.belief.deviation[row];
  Recommendation recommendation{space_.decode(looked.points[*best]), mean, deviation,
                                surrogate_->basis() + " expects " + describe(mean, deviation)};
  const double least =
      (looked.belief.mean - kRegretDeviations * looked.belief.deviation).minCoeff();
  const double bound = mean + kRegretDeviations * deviation - least;
  if (uses_simulator_) recommendation.regret_bound = bound;
  if (scale_.is_relative()) {
    recommendation.expected = scale_.value(mean);
    recommendation.deviation = deviation * std::abs(recommendation.expected);
  }
  return recommendation;
}

}  // namespace hocket
