#include "tuner/trial/warm_up.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/statistics.h"

namespace hocket {
namespace {

constexpr double kLeastShare = 0.1, kLeastSpreads = 5, kSlowQuantile = 0.95;

}  // namespace

std::vector<double> whole_run(const TrialOutcome& outcome) {
  std::vector<double> samples;
  if (const auto found = outcome.metrics.find(kWarmUpMetric); found != outcome.metrics.end())
    samples = found->second;
  samples.insert(samples.end(), outcome.samples.begin(), outcome.samples.end());
  return samples;
}

std::size_t warm_up_of(std::span<const double> costs) {
  if (costs.size() < kLeastForWarmUp) return 0;
  const auto first_half = costs.first(costs.size() / 2);
  const std::vector<double> rest(costs.begin() + static_cast<std::ptrdiff_t>(first_half.size()),
                                 costs.end());
  const double middle = median(rest);
  const double margin = std::max(kLeastShare * std::abs(middle), kLeastSpreads * spread(rest));
  const double limit = std::max(quantile(rest, kSlowQuantile), middle + margin);
  const auto end = std::ranges::find_if(first_half, [&](double cost) { return !(cost > limit); });
  return static_cast<std::size_t>(end - first_half.begin());
}

ObjectiveMeasurement without_first(ObjectiveMeasurement measured, std::size_t count) {
  HOCKET_CHECK(count < measured.samples.size(), "a warm-up is a part of the run");
  if (count == 0) return measured;
  std::vector<double> samples(measured.samples.begin() + static_cast<std::ptrdiff_t>(count),
                              measured.samples.end());
  const double middle = median(samples);
  const double width = spread(samples);
  return {middle, width, std::move(samples)};
}

}  // namespace hocket
