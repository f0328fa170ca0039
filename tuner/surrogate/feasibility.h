#pragma once

// Where trials complete and where they fail, learned from those that did. One thread at a time.
//
// A Nadaraya-Watson estimate: near a point, the share of trials that completed, each weighted by
// the Matérn kernel, with one completed trial's weight added everywhere.

#include <vector>

#include "tuner/space/space.h"

namespace hocket {

/// A point that completes less likely is tried last, and not recommended.
inline constexpr double kUnlikely = 0.7;

class Feasibility {
 public:
  /// `space` must outlive this.
  explicit Feasibility(const Space& space);

  void tell(const UnitPoint& point, bool completed);

  /// That a trial at `point` completes: 1 while none has failed.
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
