#pragma once

// Estimates by how much communication slows the computation beside it, from the computations of a
// profile. Pure.
//
// A computation that takes `a` alone and runs beside communication for a time b takes
// d = a + g · b, because beside communication it does the share 1 − g of its work in a time. g is
// the slope of a line through the points (b, d) of one computation, fitted with Theil's incomplete
// method (Sen, JASA 1968): a point of the lower half by b is paired with one of the upper half.
// Only pairs that differ clearly in b count, because a computation that takes long for another
// reason also lies beside more communication.

#include <cstdint>
#include <optional>
#include <span>

#include "profiler/calibration/step_profile.h"

namespace hocket {

struct Contention {
  /// Share by which computation slows while communication runs beside it: g / (1 − g), at least 0.
  double slowdown = 0;
  std::int64_t pairs = 0;  ///< pairs of computations that it rests on
  /// The pairs are of different tasks with one name, because every task ran always beside
  /// communication or always alone.
  bool is_between_tasks = false;

  bool operator==(const Contention&) const = default;
};

/// Returns nothing without enough evidence. O(n log n) in the tasks of `steps`, which all have the
/// same tasks.
std::optional<Contention> estimate_contention(std::span<const ProfiledStep> steps);

}  // namespace hocket
