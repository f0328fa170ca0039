#pragma once

// The direction of an objective: minimised or maximised. Measurements are kept and shown as they
// were measured; whatever compares them compares their costs. Pure; thread-safe.

#include <cstddef>
#include <span>
#include <vector>

namespace hocket {

enum class Direction { minimise, maximise };

/// Returns the cost of `value`: lower is better, whatever the direction. It is its own inverse.
inline double cost(double value, Direction direction) {
  return direction == Direction::maximise ? -value : value;
}

/// Returns the direction of objective `index`, which counts from 0; those without one are
/// minimised.
inline Direction direction_at(std::span<const Direction> directions, std::size_t index) {
  return index < directions.size() ? directions[index] : Direction::minimise;
}

inline std::vector<double> costs(std::span<const double> values, Direction direction) {
  std::vector<double> result;
  for (const double value : values) result.push_back(cost(value, direction));
  return result;
}

}  // namespace hocket
