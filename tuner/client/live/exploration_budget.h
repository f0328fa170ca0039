#pragma once

// What trying other configurations may cost a job: a share of its training time so far. The cost is
// what iterations under a candidate, and those in which the job switches, take in excess of the
// usual time. A window that has begun goes on to its verdict, and its guard (window.h) sees to the
// rest: the cost exceeds the budget by at most that of one window, and nothing begins until the
// time has been earned. Pure; not thread-safe.

#include <algorithm>
#include <cstdint>

#include "core/base/check.h"

namespace hocket {

class ExplorationBudget {
 public:
  /// `share` of the training time, 0 to 1.
  explicit ExplorationBudget(double share) : share_(share) {
    HOCKET_CHECK(share >= 0 && share <= 1, "a share of the training time");
  }

  /// An iteration as usual.
  void trained(std::int64_t iteration_ns) { total_ns_ += static_cast<double>(iteration_ns); }
  /// An iteration that was part of trying something. One that is faster than usual earns nothing.
  void explored(std::int64_t iteration_ns, double usual_ns) {
    trained(iteration_ns);
    spent_ns_ += std::max(static_cast<double>(iteration_ns) - usual_ns, 0.0);
  }

  /// Earned and not spent; negative once the cost has gone beyond it.
  double left_ns() const { return share_ * total_ns_ - spent_ns_; }
  /// Whether a window may begin that is expected to cost `cost_ns` > 0.
  bool may_start(double cost_ns) const { return left_ns() >= cost_ns; }
  /// The share of the training time that trying has cost.
  double spent() const { return total_ns_ > 0 ? spent_ns_ / total_ns_ : 0; }

 private:
  const double share_;
  double total_ns_ = 0, spent_ns_ = 0;
};

}  // namespace hocket
