#pragma once

// Set operations on time as sorted, disjoint, half-open intervals. Pure.

#include <cstdint>
#include <vector>

namespace hocket {

struct Interval {
  std::int64_t begin_ns = 0, end_ns = 0;

  bool operator==(const Interval&) const = default;
};

/// Returns the union of `intervals`, which may be in any order; ignores empty and inverted ones.
std::vector<Interval> union_of(std::vector<Interval> intervals);

/// Returns the intersection of two unions.
std::vector<Interval> intersection_of(const std::vector<Interval>& a,
                                      const std::vector<Interval>& b);

/// Returns the total length of a union.
std::int64_t length_ns(const std::vector<Interval>& intervals);

/// Computes the covered length of any window in O(log n).
class Coverage {
 public:
  explicit Coverage(std::vector<Interval> set);

  /// Returns the covered length inside `window`; 0 for an empty or inverted one.
  std::int64_t inside_ns(const Interval& window) const;

 private:
  std::int64_t before_ns(std::int64_t time_ns) const;

  std::vector<Interval> set_;
  std::vector<std::int64_t> before_ns_;  // covered length before each interval
};

}  // namespace hocket
