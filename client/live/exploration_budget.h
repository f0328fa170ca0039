#pragma once

// The exploration budget: trying candidates may cost a job at most a share of its training time so
// far. The cost of a window is the time in excess of the usual that its iterations under the
// candidate or while the job switches take together, so that noise, which makes some longer and
// some shorter, costs nothing. A faster candidate earns nothing. A window that has begun continues
// to its verdict, and its guard (ab_window.h) limits its cost, so the total exceeds the budget by
// at most the cost of one window, and no window begins until the budget is positive again. Pure;
// not thread-safe.

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
  /// Adds an iteration under a candidate or while switching; `usual_ns` is the mean without.
  void explored(std::int64_t iteration_ns, double usual_ns) {
    trained(iteration_ns);
    excess_ns_ += static_cast<double>(iteration_ns) - usual_ns;
  }
  /// Ends a window.
  void window_ended() {
    spent_ns_ = spent_of_all();
    excess_ns_ = 0;
  }

  /// Returns the remaining budget; negative after an overrun.
  double left_ns() const { return share_ * total_ns_ - spent_of_all(); }
  /// Returns whether a window with an expected cost of `cost_ns` > 0 may begin.
  bool may_start(double cost_ns) const { return left_ns() >= cost_ns; }
  /// Returns the share of the training time spent on exploration so far.
  double spent() const { return total_ns_ > 0 ? spent_of_all() / total_ns_ : 0; }

 private:
  double spent_of_all() const { return spent_ns_ + std::max(excess_ns_, 0.0); }

  const double share_;
  double total_ns_ = 0, spent_ns_ = 0;
  double excess_ns_ = 0;  ///< of the open window
};

}  // namespace hocket
