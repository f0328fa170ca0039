#pragma once

// Where values lie on the axis of a plot, between 0 and 1: on logarithms where they are positive
// and differ much. Thread-compatible.

#include <vector>

namespace hocket {

class ValueScale {
 public:
  /// Widens the scale to hold `value`; one that is not finite is left out.
  void add(double value);

  /// From 0, the lowest value, to 1, the highest; 0.5 where they are the same. What lies outside
  /// counts as the nearer of the two. Requires a finite value.
  double place(double value) const;

  /// Values to write at the axis, rising, ten at most and all on the scale.
  std::vector<double> ticks() const;

 private:
  bool is_log() const;
  double scaled(double value) const;
  double round_step() const;

  double low_ = 0, high_ = 0;
  bool empty_ = true;
};

}  // namespace hocket
