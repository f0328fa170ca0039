#pragma once

// Estimates where trials complete and where they fail, from trials that were told. One thread at a
// time.
//
// A Nadaraya-Watson estimate: the share of trials near a point that completed, each weighted by the
// Matérn kernel, with the weight of one completed prior trial added everywhere.

#include <vector>

#include "tuner/space/space.h"

namespace hocket {

/// Least probability of completion; points below it are tried last and not recommended.
inline constexpr double kUnlikely = 0.7;

class Feasibility {
 public:
  /// `space` must outlive this.
  explicit Feasibility(const Space& space);

  void tell(const UnitPoint& point, bool completed);

  /// Returns the probability that a trial at `point` completes; 1 while no trial has failed.
  double probability(const UnitPoint& point) const;

 private:
  struct Told {
    UnitPoint point;
    bool completed = false;
  };

  std::vector<bool> categorical_;
  std::vector<Told> told_;
  bool some_failed_ = false;
};

}  // namespace hocket
