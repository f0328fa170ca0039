#pragma once

// The scale on which values are modelled: logarithms if all of them are positive, −log(−v) if all
// are negative, as the costs of what is maximised are, else the values themselves. Both logarithms
// grow with the value, and a difference of them is a relative difference. One thread at a time.

#include <algorithm>
#include <cmath>

namespace hocket {

class ModelScale {
 public:
  /// Takes a value into account. Returns whether the scale has changed.
  bool add(double value) {
    const int sign = value > 0 ? 1 : value < 0 ? -1 : 0;
    const int before = sign_;
    sign_ = empty_ || sign == sign_ ? sign : 0;
    empty_ = false;
    return sign_ != before;
  }

  bool is_relative() const { return sign_ != 0; }

  /// Returns `value` on the scale.
  double level(double value) const {
    return is_relative() ? sign_ * std::log(sign_ * value) : value;
  }
  /// Returns the standard error of level(value); at most 1 where it is relative.
  double level_error(double value, double standard_error) const {
    return is_relative() ? std::min(1.0, standard_error / std::abs(value)) : standard_error;
  }
  /// Returns the value at `level`.
  double value(double level) const {
    return is_relative() ? sign_ * std::exp(sign_ * level) : level;
  }

 private:
  int sign_ = 1;  ///< sign of all values; 0 if signs differ or a value is 0
  bool empty_ = true;
};

}  // namespace hocket
