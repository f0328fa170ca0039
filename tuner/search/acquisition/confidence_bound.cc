#include <cmath>

#include "tuner/search/acquisition.h"

namespace hocket {
namespace {

/// Penalty per unit of log probability of completion, as a share of the iteration time.
constexpr double kFailureCost = 0.3;

class ConfidenceBound final : public Acquisition {
 public:
  explicit ConfidenceBound(double deviations) : deviations_(deviations) {}

  double score(const Prospect& prospect, double) const override {
    return deviations_ * prospect.deviation - prospect.mean +
           kFailureCost * std::log(prospect.completes);
  }

 private:
  double deviations_;
};

}  // namespace

std::unique_ptr<Acquisition> confidence_bound(double deviations) {
  return std::make_unique<ConfidenceBound>(deviations);
}

}  // namespace hocket
