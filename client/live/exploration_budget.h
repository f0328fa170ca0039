#pragma once

// The exploration budget: trying candidates may cost a job at most a share of its training time so
// far. The cost is the time in excess of the usual that iterations take under a candidate or while
// the job switches. A window that has begun continues to its verdict, and its guard (window.h)
// limits its cost, so the total exceeds the budget by at most the cost of one window, and no window
// begins until the budget is positive again. Pure; not thread-safe.

#include <algorithm>
#include <cstdint>

#include "core/base/check.h"

namespace hocket {

class ExplorationBudget {
 public:
  /// `share` is the budget as a share of the training time, 0 to 1.
  explicit ExplorationBudget(double share) : share_(share) {
    HOCKET_CHECK(share >= 0 && share <= 1, "a share of the training time");
  }

  /// Adds an iteration under the current configuration.
  void trained(std::int64_t iteration_ns) { total_ns_ += static_cast<double>(iteration_ns); }
  /// Adds an iteration under a candidate or while switching. An iteration faster than `usual_ns`
  /// earns nothing extra.
  void explored(std::int64_t iteration_ns, double usual_ns) {
    trained(iteration_ns);
    spent_ns_ += std::max(static_cast<double>(iteration_ns) - usual_ns, 0.0);
  }

  /// Returns the remaining budget; negative after an overrun.
  double left_ns() const { return share_ * total_ns_ - spent_ns_; }
  /// Returns whether a window with an expected cost of `cost_ns` > 0 may begin.
  bool may_start(double cost_ns) const { return left_ns() >= cost_ns; }
  /// Returns the share of the training time spent on exploration so far.
  double spent() const { return total_ns_ > 0 ? spent_ns_ / total_ns_ : 0; }

 private:
  const double share_;
  double total_ns_ = 0, spent_ns_ = 0;
};

}  // namespace hocket
