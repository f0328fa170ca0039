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
constexpr double kConfidenceOfWorse = 0.8;

}  // namespace

double PairedGain::doubt(double confidence) const {
  if (pairs < 2) return 0;
  return student_t_quantile(confidence, static_cast<double>(pairs) - 1) * error;
}

double PairedGain::share(double gain) const {
  return is_log ? -std::expm1(-gain) : gain;
}

PairedGain paired_gain(std::span<const ConfirmationRun> default_runs,
                       std::span<const ConfirmationRun> winner_runs) {
  HOCKET_CHECK(default_runs.size() == winner_runs.size(), "runs are compared in pairs");
  if (default_runs.empty()) return {};
  const auto positive = [](const ConfirmationRun& run) { return run.value > 0; };
  const bool is_log = std::all_of(default_runs.begin(), default_runs.end(), positive) &&
                      std::all_of(winner_runs.begin(), winner_runs.end(), positive);
  const double pairs = static_cast<double>(default_runs.size());
  double unit = 0;
  for (const auto& run : default_runs) unit += std::abs(run.value) / pairs;
  if (unit == 0) unit = 1;
  const auto error_of = [&](const ConfirmationRun& run) {
    return median_standard_error(run.spread, run.samples) / (is_log ? run.value : unit);
  };
  std::vector<double> gains;
  double within = 0;
  for (std::size_t i = 0; i < default_runs.size(); ++i) {
    const ConfirmationRun &before = default_runs[i], &after = winner_runs[i];
    gains.push_back(is_log ? std::log(before.value) - std::log(after.value)
                           : before.value / unit - after.value / unit);
    within += std::pow(error_of(before), 2) + std::pow(error_of(after), 2);
  }
  PairedGain gain{.mean = mean(gains), .pairs = gains.size(), .is_log = is_log};
  if (gain.pairs >= 2) {
    gain.error = std::max(standard_deviation(gains) / std::sqrt(pairs), std::sqrt(within) / pairs);
  }
  return gain;
}

double look_level(int most_pairs) {
  const double looks = std::max(most_pairs, kFewestPairs) - kFewestPairs + 1;
  return kError / std::pow(looks, kExponent);
}

Verdict compare(std::span<const ConfirmationRun> default_runs,
                std::span<const ConfirmationRun> winner_runs, int most_pairs) {
  const PairedGain gain = paired_gain(default_runs, winner_runs);
  if (gain.pairs < kFewestPairs) return {.gain = gain.share(gain.mean)};
  const double noise = gain.doubt(1 - look_level(most_pairs));
  return {gain.mean > noise, gain.mean <= -gain.doubt(kConfidenceOfWorse), gain.share(gain.mean),
          gain.share(noise)};
}

}  // namespace hocket
