#pragma once

// Sets of time as sorted, disjoint, half-open intervals. Pure.

#include <cstdint>
#include <vector>

namespace hocket {

struct Interval {
  std::int64_t begin_ns = 0, end_ns = 0;

  bool operator==(const Interval&) const = default;
};

/// The union of `intervals` in any order; empty and inverted ones count for nothing.
std::vector<Interval> union_of(std::vector<Interval> intervals);

/// What two unions share.
std::vector<Interval> intersection_of(const std::vector<Interval>& a,
                                      const std::vector<Interval>& b);

/// Total length of a union.
std::int64_t length_ns(const std::vector<Interval>& intervals);

/// Tells in log n how much of any window a union covers.
class Coverage {
 public:
  explicit Coverage(std::vector<Interval> set);

  /// 0 of an empty or inverted window.
  std::int64_t inside_ns(const Interval& window) const;

 private:
  std::int64_t before_ns(std::int64_t time_ns) const;

  std::vector<Interval> set_;
  std::vector<std::int64_t> before_ns_;  // how much lies before each of them
};

}  // namespace hocket
