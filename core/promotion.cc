#include "core/promotion.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/statistics.h"

namespace hocket {
namespace {

/// Share of studies of equal settings in which one may be promoted.
constexpr double kError = 0.05;
/// Of the looks. 1 would be Bonferroni's bound; looks at the same pairs are alike, so less will do.
constexpr double kExponent = 0.8;
constexpr double kConfidenceOfWorse = 0.8;

/// How values become gains: logarithms, or shares of the default where those do not exist.
struct Scale {
  bool log = true;
  double unit = 1;

  double gain(double default_value, double winner_value) const {
    return log ? std::log(default_value) - std::log(winner_value)
               : default_value / unit - winner_value / unit;
  }
  double error(const ConfirmationRun& run) const {
    const double error = median_standard_error(run.spread, run.samples);
    return log ? error / run.value : error / unit;
  }
  /// As a share of the default.
  double share(double gain) const { return log ? -std::expm1(-gain) : gain; }
};

Scale scale_for(std::span<const ConfirmationRun> default_runs,
                std::span<const ConfirmationRun> winner_runs) {
  const auto positive = [](const ConfirmationRun& run) { return run.value > 0; };
  Scale scale;
  scale.log = std::all_of(default_runs.begin(), default_runs.end(), positive) &&
              std::all_of(winner_runs.begin(), winner_runs.end(), positive);
  double sum = 0;
  for (const auto& run : default_runs) {
    sum += std::abs(run.value) / static_cast<double>(default_runs.size());
  }
  if (sum > 0) scale.unit = sum;
  return scale;
}

}  // namespace

Verdict compare(std::span<const ConfirmationRun> default_runs,
                std::span<const ConfirmationRun> winner_runs, int most_pairs) {
  HOCKET_CHECK(default_runs.size() == winner_runs.size(), "runs are compared in pairs");
  if (default_runs.empty()) return {};
  const Scale scale = scale_for(default_runs, winner_runs);
  std::vector<double> gains;
  double within = 0;
  for (std::size_t i = 0; i < default_runs.size(); ++i) {
    gains.push_back(scale.gain(default_runs[i].value, winner_runs[i].value));
    within += std::pow(scale.error(default_runs[i]), 2) + std::pow(scale.error(winner_runs[i]), 2);
  }
  const double pairs = static_cast<double>(gains.size());
  const double gain = mean(gains);
  if (std::ssize(gains) < kFewestPairs) return {.gain = scale.share(gain)};
  const double error =
      std::max(standard_deviation(gains) / std::sqrt(pairs), std::sqrt(within) / pairs);
  const double looks = std::max(most_pairs, kFewestPairs) - kFewestPairs + 1;
  const double level = kError / std::pow(looks, kExponent);
  const double noise = student_t_quantile(1 - level, pairs - 1) * error;
  const double doubt = student_t_quantile(kConfidenceOfWorse, pairs - 1) * error;
  return {gain > noise, gain <= -doubt, scale.share(gain), scale.share(noise)};
}

}  // namespace hocket
