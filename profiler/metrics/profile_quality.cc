#include "profiler/metrics/profile_quality.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/statistics.h"
#include "core/base/text.h"

namespace hocket {
namespace {

/// Standard deviation of the error that the computation times of a good profile have.
constexpr double kGoodError = 0.05;
constexpr double kMostUncertainty = 20;
/// Half the interquartile range of a normal distribution, in standard deviations.
constexpr double kNormalSpread = 0.6745;
/// Iterations below which a median is not robust against a single disturbed one.
constexpr std::int64_t kFewIterations = 5;

struct Contribution {
  double error = 0;
  std::string reason;
};

std::vector<Contribution> contributions(const ProfileConditions& conditions) {
  std::vector<Contribution> list;
  if (const auto waiting = conditions.waiting_share) {
    list.push_back({-std::log(1 - std::clamp(*waiting, 0.0, 0.95)),
                    "its threads waited " + percent(*waiting) + " of their time for a processor"});
  }
  if (const auto others = conditions.others_share) {
    // Without waiting: what neighbours cost in shared caches and memory is some percent.
    list.push_back({0.1 * std::clamp(*others, 0.0, 1.0),
                    "other processes used " + percent(*others) + " of the processors' time"});
  }
  list.push_back({conditions.iteration_scatter / 2,
                  "its iterations scatter by " + percent(conditions.iteration_scatter)});
  list.push_back({std::abs(conditions.drift) / 2,
                  "its iterations became " + percent(std::abs(conditions.drift)) +
                      (conditions.drift > 0 ? " slower" : " faster") + " while it was recorded"});
  if (conditions.iterations < kFewIterations) {
    list.push_back({0.1, "it has " + std::to_string(conditions.iterations) +
                             (conditions.iterations == 1 ? " iteration" : " iterations")});
  }
  list.push_back(
      {conditions.lost_share,
       percent(conditions.lost_share) + " of its records are lost, cannot be true or were cut"});
  return list;
}

}  // namespace

ProfileConditions conditions_of(std::span<const double> iteration_ns) {
  ProfileConditions conditions;
  std::vector<double> logarithms;
  for (const double ns : iteration_ns)
    if (ns > 0) logarithms.push_back(std::log(ns));
  conditions.iterations = std::ssize(logarithms);
  if (logarithms.size() < 2) return conditions;
  conditions.iteration_scatter = spread(logarithms) / kNormalSpread;
  const auto half = logarithms.begin() + static_cast<std::ptrdiff_t>(logarithms.size() / 2);
  const double change = median({half, logarithms.end()}) - median({logarithms.begin(), half});
  // A difference of two medians that their scatter explains is no drift.
  const double error =
      2 * median_standard_error(spread(logarithms), std::max<std::size_t>(logarithms.size(), 2));
  if (std::abs(change) > 2 * error) conditions.drift = std::expm1(change);
  return conditions;
}

StepQuality judge_profile(const ProfileConditions& conditions) {
  double squares = kGoodError * kGoodError;
  std::vector<Contribution> list = contributions(conditions);
  for (const Contribution& each : list) squares += each.error * each.error;
  std::ranges::stable_sort(list, std::greater(), &Contribution::error);
  StepQuality quality;
  quality.uncertainty = std::min(std::sqrt(squares) / kGoodError, kMostUncertainty);
  for (const Contribution& each : list) {
    const double without = std::sqrt(squares - each.error * each.error);
    if (std::sqrt(squares) < 1.1 * without) continue;
    quality.reason += (quality.reason.empty() ? "" : ", ") + each.reason;
  }
  return quality;
}

}  // namespace hocket
