#include "tuner/search/transfer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "core/base/check.h"
#include "core/base/statistics.h"
#include "tuner/search/model_scale.h"

namespace hocket {
namespace {

/// Returns the donor's observations on the modelled scale (tuner/surrogate/surrogate.h).
std::vector<Observation> observations_of(const Donor& donor, const Space& space) {
  ModelScale scale;
  for (const Evaluation& evaluation : donor.evaluations) scale.add(*evaluation.value);
  std::vector<Observation> observations;
  for (const Evaluation& evaluation : donor.evaluations) {
    observations.push_back({space.encode(evaluation.params), scale.level(*evaluation.value), 0});
  }
  return observations;
}

/// Returns `count` of `all`, evenly spaced, including the first and the last.
std::vector<Evaluation> thinned(const std::vector<Evaluation>& all, std::size_t count) {
  if (all.size() <= count) return all;
  std::vector<Evaluation> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * (all.size() - 1) / (count - 1)]);
  return some;
}

/// Returns the least-squares slope of the values over the donor's centred mean; 0 if it is
/// negative.
double slope_of(const Eigen::VectorXd& centred, std::span<const double> values) {
  const double centre = mean(values);
  double products = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    products += centred[static_cast<Eigen::Index>(i)] * (values[i] - centre);
  const double slope = products / centred.squaredNorm();
  return std::isfinite(slope) ? std::max(0.0, slope) : 0;
}

}  // namespace

Donor adapted_donor(const Donor& donor, const Space& space) {
  struct Values {
    double mean = 0;
    std::size_t count = 0;
    bool failed = false;
  };
  std::map<Params, Values> settings;
  for (const Evaluation& evaluation : donor.evaluations) {
    const auto params = space.admit(evaluation.params);
    if (!params) continue;
    Values& values = settings[*params];
    values.failed = values.failed || !evaluation.value;
    if (values.failed) continue;
    ++values.count;
    const auto count = static_cast<double>(values.count);
    values.mean += *evaluation.value / count - values.mean / count;
  }
  std::vector<Evaluation> evaluations;
  for (const auto& [params, values] : settings)
    if (!values.failed) evaluations.push_back({params, values.mean, 0});
  std::ranges::stable_sort(evaluations, {}, [](const Evaluation& e) { return *e.value; });
  return {donor.study, donor.distance, thinned(evaluations, kMostDonorSettings)};
}

std::vector<Params> best_settings(const Donor& adapted) {
  std::vector<Params> settings;
  for (const Evaluation& evaluation : adapted.evaluations) {
    if (settings.size() == kReplayedSettings) break;
    settings.push_back(evaluation.params);
  }
  return settings;
}

std::string replay_reason(const Donor& donor) {
  const std::string reason = "among the best of study " + donor.study;
  if (!donor.distance) return reason;
  char text[32];
  std::snprintf(text, sizeof text, ", at distance %.1f", *donor.distance);
  return reason + text;
}

double ranking_loss(const Eigen::MatrixXd& beliefs, std::span<const double> values) {
  HOCKET_CHECK(beliefs.rows() == std::ssize(values) && beliefs.cols() == std::ssize(values),
               "a column and a row a value");
  std::size_t pairs = 0, wrong = 0;
  for (Eigen::Index j = 0; j < std::ssize(values); ++j) {
    for (Eigen::Index k = 0; k < std::ssize(values); ++k) {
      const double own = values[static_cast<std::size_t>(j)];
      const double other = values[static_cast<std::size_t>(k)];
      if (own == other) continue;
      ++pairs;
      wrong += (beliefs(j, j) < beliefs(k, j)) != (own < other) ? 1 : 0;
    }
  }
  return pairs == 0 ? 0 : static_cast<double>(wrong) / static_cast<double>(pairs);
}

TransferSurrogate::TransferSurrogate(const Space& space, const Donor& donor)
    : study_(donor.study),
      donor_(space, ValueWarp::none),
      plain_(space),
      rest_(space, ValueWarp::none) {
  HOCKET_CHECK(donor.evaluations.size() >= kLeastTransferValues, "a donor has some values");
  donor_.fit(observations_of(donor, space), {});
}

void TransferSurrogate::fit(std::span<const Observation> told,
                            std::span<const Observation> pending) {
  plain_.fit(told, pending);
  joins_ = false;
  // The models are compared at every told point, so both must keep them all. A study with more has
  // nothing left to learn from a donor.
  if (told.size() < kLeastTransferValues || told.size() > GaussianSurrogate::kMostKept) return;

  std::vector<UnitPoint> points;
  std::vector<double> values;
  for (const auto& observations : {told, pending}) {
    for (const Observation& observation : observations) {
      points.push_back(observation.point);
      values.push_back(observation.value);
    }
  }
  Eigen::VectorXd mean = donor_.believe(points).mean;
  const auto count = std::ssize(told);
  centre_ = mean.head(count).mean();
  mean.array() -= centre_;
  const std::span measured = std::span(values).first(told.size());
  slope_ = slope_of(mean.head(count), measured);
  if (slope_ == 0) return;

  std::vector<Observation> rest;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& observation = i < told.size() ? told[i] : pending[i - told.size()];
    const double left = values[i] - slope_ * mean[static_cast<Eigen::Index>(i)];
    if (!std::isfinite(left)) return;
    rest.push_back({points[i], left, observation.standard_error});
  }
  rest_.fit(std::span(rest).first(told.size()), std::span(rest).subspan(told.size()));

  const Eigen::MatrixXd without = plain_.leave_one_out().topLeftCorner(count, count);
  const Eigen::MatrixXd with =
      rest_.leave_one_out().topLeftCorner(count, count).colwise() + slope_ * mean.head(count);
  joins_ = ranking_loss(with, measured) < ranking_loss(without, measured);
}

Belief TransferSurrogate::believe(std::span<const UnitPoint> points) {
  if (!joins_) return plain_.believe(points);
  Belief belief = rest_.believe(points);
  belief.mean.array() += slope_ * (donor_.believe(points).mean.array() - centre_);
  return belief;
}

double TransferSurrogate::noise() const {
  return joins_ ? rest_.noise() : plain_.noise();
}

std::string TransferSurrogate::basis() const {
  return joins_ ? "a Gaussian process about the model of study " + study_ : plain_.basis();
}

}  // namespace hocket
