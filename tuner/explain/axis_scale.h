#pragma once

// Maps values to positions on a plot axis, between 0 and 1: logarithmically if they are positive
// and span a wide range. Thread-compatible.

#include <vector>

namespace hocket {

class ValueScale {
 public:
  /// Widens the scale to hold `value`; ignores values that are not finite.
  void add(double value);

  /// Returns the position from 0, the lowest value, to 1, the highest; 0.5 if they are equal.
  /// Values outside are clamped. Requires a finite value.
  double place(double value) const;

  /// Returns the values to label on the axis, ascending, at most ten and all on the scale.
  std::vector<double> ticks() const;

 private:
  bool is_log() const;
  double scaled(double value) const;
  double round_step() const;

  double low_ = 0, high_ = 0;
  bool empty_ = true;
};

}  // namespace hocket
