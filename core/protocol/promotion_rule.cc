#include "core/protocol/promotion_rule.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/check.h"
#include "core/base/statistics.h"

namespace hocket {
namespace {

/// Maximum share of studies that promote a setting equal to the default.
constexpr double kError = 0.05;
/// Exponent of the number of tests. 1 would be Bonferroni's bound; tests of overlapping sets of
/// pairs are correlated, so less suffices.
constexpr double kExponent = 0.8;
/// Bounds of each test: by the scatter between pairs, and by that among the runs of a setting.
constexpr double kBounds = 2;
constexpr double kConfidenceOfWorse = 0.8;

}  // namespace

double PairedGain::doubt(double confidence) const {
  if (pairs < 2) return 0;
  return student_t_quantile(confidence, static_cast<double>(pairs) - 1) * error;
}

double PairedGain::doubt_of_runs(double confidence) const {
  if (pairs < 2) return 0;
  return student_t_quantile(confidence, 2 * (static_cast<double>(pairs) - 1)) * error_of_runs;
}

double PairedGain::share(double gain) const {
  if (!is_log) return gain;
  return direction == Direction::maximise ? std::expm1(gain) : -std::expm1(-gain);
}

PairedGain paired_gain(std::span<const ConfirmationRun> default_runs,
                       std::span<const ConfirmationRun> winner_runs, Direction direction) {
  HOCKET_CHECK(default_runs.size() == winner_runs.size(), "runs are compared in pairs");
  if (default_runs.empty()) return {};
  const auto positive = [](const ConfirmationRun& run) { return run.value > 0; };
  const bool is_log = std::all_of(default_runs.begin(), default_runs.end(), positive) &&
                      std::all_of(winner_runs.begin(), winner_runs.end(), positive);
  const double pairs = static_cast<double>(default_runs.size());
  double unit = 0;
  for (const auto& run : default_runs) unit += std::abs(run.value) / pairs;
  if (unit == 0) unit = 1;
  const auto level_of = [&](const ConfirmationRun& run) {
    return cost(is_log ? std::log(run.value) : run.value / unit, direction);
  };
  const auto error_of = [&](const ConfirmationRun& run) {
    return median_standard_error(run.spread, run.samples) / (is_log ? run.value : unit);
  };
  std::vector<double> before, after, gains;
  double within = 0;
  for (std::size_t i = 0; i < default_runs.size(); ++i) {
    before.push_back(level_of(default_runs[i]));
    after.push_back(level_of(winner_runs[i]));
    gains.push_back(before.back() - after.back());
    within += std::pow(error_of(default_runs[i]), 2) + std::pow(error_of(winner_runs[i]), 2);
  }
  PairedGain gain{
      .mean = mean(gains), .pairs = gains.size(), .is_log = is_log, .direction = direction};
  if (gain.pairs >= 2) {
    const double least = std::sqrt(within) / pairs;
    const double of_runs = std::hypot(standard_deviation(before), standard_deviation(after));
    gain.error = std::max(standard_deviation(gains) / std::sqrt(pairs), least);
    gain.error_of_runs = std::max(of_runs / std::sqrt(pairs), least);
  }
  return gain;
}

double look_level(int most_pairs) {
  const double looks = std::max(most_pairs, kFewestPairs) - kFewestPairs + 1;
  return kError / std::pow(looks, kExponent);
}

PromotionVerdict promotion_verdict(std::span<const ConfirmationRun> default_runs,
                                   std::span<const ConfirmationRun> winner_runs, int most_pairs,
                                   Direction direction, double error_share) {
  const PairedGain gain = paired_gain(default_runs, winner_runs, direction);
  if (gain.pairs < kFewestPairs) return {.gain = gain.share(gain.mean)};
  const double confidence = 1 - error_share * look_level(most_pairs) / std::pow(kBounds, kExponent);
  const double needed = std::min(gain.doubt(confidence), gain.doubt_of_runs(confidence));
  const double doubt_of_worse =
      std::max(gain.doubt(kConfidenceOfWorse), gain.doubt_of_runs(kConfidenceOfWorse));
  return {.better = gain.mean > needed,
          .worse = gain.mean <= -doubt_of_worse,
          .gain = gain.share(gain.mean),
          .needed = gain.share(needed),
          .interval = {gain.share(gain.mean - needed), gain.share(gain.mean + needed)}};
}

}  // namespace hocket
