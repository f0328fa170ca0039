#include "daemon/live/drift.h"

#include <cmath>
#include <utility>

#include "core/base/rank_sum.h"
#include "core/base/statistics.h"

namespace hocket {

DriftDetector::DriftDetector(std::vector<double> reference_ns)
    : reference_(std::move(reference_ns)) {}

double DriftDetector::reference_ns() const {
  return reference_.empty() ? 0 : median(reference_);
}

int DriftDetector::side_of(const std::vector<double>& block) const {
  const double before = median(reference_), now = median(block);
  if (now > before * (1 + kDriftShare) && rank_sum_p(block, reference_) < kDriftLevel) return 1;
  if (now < before * (1 - kDriftShare) && rank_sum_p(reference_, block) < kDriftLevel) return -1;
  return 0;
}

bool DriftDetector::add(double iteration_ns) {
  if (reference_.size() < 2 * kDriftBlock) {
    reference_.push_back(iteration_ns);
    return false;
  }
  block_.push_back(iteration_ns);
  if (block_.size() < kDriftBlock) return false;
  auto block = std::exchange(block_, {});
  const int side = side_of(block);
  if (side == 0 || side != outside_side_) {
    outside_side_ = side;
    outside_ = std::move(block);
    return false;
  }
  outside_.insert(outside_.end(), block.begin(), block.end());
  reference_ = std::exchange(outside_, {});
  outside_side_ = 0;
  drifted_to_ns_ = median(reference_);
  return true;
}

}  // namespace hocket
