#include "core/base/intervals.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

constexpr std::int64_t kEnd = 200;

std::vector<Interval> random_intervals(std::mt19937_64& random) {
  std::vector<Interval> intervals(random() % 12);
  for (auto& interval : intervals) {
    interval.begin_ns = static_cast<std::int64_t>(random() % kEnd);
    interval.end_ns = static_cast<std::int64_t>(random() % kEnd);
  }
  return intervals;
}

/// Returns one flag per nanosecond: a slow but simple reference.
std::vector<bool> covered(const std::vector<Interval>& intervals) {
  std::vector<bool> flags(kEnd);
  for (const auto& i : intervals) {
    for (auto t = i.begin_ns; t < i.end_ns; ++t) flags[static_cast<std::size_t>(t)] = true;
  }
  return flags;
}

TEST(Intervals, UnionsAndIntersectionsAgreeWithCountingEveryNanosecond) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto raw_a = random_intervals(random), raw_b = random_intervals(random);
    const auto a = union_of(raw_a), b = union_of(raw_b);
    ASSERT_EQ(covered(a), covered(raw_a));
    for (std::size_t i = 1; i < a.size(); ++i) ASSERT_LT(a[i - 1].end_ns, a[i].begin_ns);
    const auto both = intersection_of(a, b);
    const auto flags_a = covered(raw_a), flags_b = covered(raw_b);
    std::int64_t shared = 0;
    for (std::size_t t = 0; t < flags_a.size(); ++t) shared += flags_a[t] && flags_b[t];
    ASSERT_EQ(length_ns(both), shared);
  }
}

TEST(Intervals, CoverageOfAWindowAgreesWithCountingEveryNanosecond) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto set = union_of(random_intervals(random));
    const auto flags = covered(set);
    const Coverage coverage(set);
    for (int i = 0; i < 20; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % kEnd);
      const auto end = static_cast<std::int64_t>(random() % kEnd);
      std::int64_t expected = 0;
      for (auto t = begin; t < end; ++t) expected += flags[static_cast<std::size_t>(t)];
      ASSERT_EQ(coverage.inside_ns({begin, end}), expected) << begin << " to " << end;
    }
  }
}

}  // namespace
}  // namespace hocket
