#include <cmath>
#include <numbers>

#include "tuner/search/acquisition.h"

namespace hocket {
namespace {

/// log(φ(z) + z Φ(z)) for the standard normal density φ and distribution Φ.
double log_h(double z) {
  const double log_density = -z * z / 2 - std::log(2 * std::numbers::pi) / 2;
  // Further left the two terms cancel, so the asymptotic series of Φ is used.
  if (z < -10) return log_density - 2 * std::log(-z) + std::log1p(-3 / (z * z));
  const double distribution = std::erfc(-z / std::numbers::sqrt2) / 2;
  return std::log(std::exp(log_density) + z * distribution);
}

class ExpectedImprovement final : public Acquisition {
 public:
  double score(const Prospect& prospect, double incumbent) const override {
    return log_expected_improvement(prospect.mean, prospect.deviation, incumbent) +
           std::log(prospect.completes);
  }
};

}  // namespace

double log_expected_improvement(double mean, double deviation, double best) {
  return std::log(deviation) + log_h((best - mean) / deviation);
}

std::unique_ptr<Acquisition> expected_improvement() {
  return std::make_unique<ExpectedImprovement>();
}

}  // namespace hocket
