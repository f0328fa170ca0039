// The rounding of double-precision numbers to the types of a graph (IEEE 754, section 4.3.1).

#include <cmath>
#include <limits>

#include "core/graph/interpreter/interpreter.h"

namespace hocket {
namespace {

struct Precision {
  int bits;            ///< of a normal number, with the first one
  int least_exponent;  ///< of a normal number; smaller ones have fewer bits
  int most_exponent;
};

Precision precision_of(NumberType type) {
  switch (type) {
    case NumberType::float16:
      return {11, -14, 15};
    case NumberType::bfloat16:
      return {8, -126, 127};
    case NumberType::float32:
    case NumberType::int32:
      break;
  }
  return {24, -126, 127};
}

}  // namespace

double rounded(double value, NumberType type) {
  if (!is_floating(type) || value == 0 || !std::isfinite(value)) return value;
  const Precision precision = precision_of(type);
  const int exponent = std::max(std::ilogb(value), precision.least_exponent);
  // The distance of neighbours is 2^last. Scaling by a power of two is exact here: it makes a whole
  // number and a fraction of what is above and below the last bit.
  const int last = exponent - (precision.bits - 1);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  if (std::abs(nearest) < std::ldexp(1.0, precision.most_exponent + 1)) return nearest;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

}  // namespace hocket
