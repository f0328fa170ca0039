#include "profiler/clocks/offset_bounds.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

constexpr ClockRange kLimits{-1e-3, 1e-3};

struct Bounded {
  OffsetBounds bounds;
  double offset = 0, drift = 0;
};

/// Returns random bounds that a line satisfies.
Bounded random_bounds(std::mt19937_64& random) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Bounded bounded;
  bounded.offset = uniform(-1e6, 1e6);
  bounded.drift = uniform(kLimits.low, kLimits.high);
  for (auto left = 1 + random() % 20; left > 0; --left) {
    const double x = uniform(-1e9, 1e9), offset = bounded.offset + bounded.drift * x;
    bounded.bounds.add(x, {offset - uniform(10, 1e5), offset + uniform(10, 1e5)});
  }
  return bounded;
}

TEST(OffsetBounds, TheTrueLineIsAmongThoseThatTheyLeave) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Bounded truth = random_bounds(random);
    const auto drifts = truth.bounds.drifts(kLimits);
    ASSERT_TRUE(drifts);
    EXPECT_LE(drifts->low, truth.drift);
    EXPECT_GE(drifts->high, truth.drift);
    for (const double x : {-2e9, 0.0, 5e8}) {
      const ClockRange offsets = truth.bounds.offsets(*drifts, x);
      EXPECT_LE(offsets.low, truth.offset + truth.drift * x + 1);
      EXPECT_GE(offsets.high, truth.offset + truth.drift * x - 1);
    }
  }
}

TEST(OffsetBounds, AgreeWithTryingManyDrifts) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Bounded truth = random_bounds(random);
    const auto drifts = truth.bounds.drifts(kLimits);
    ASSERT_TRUE(drifts);
    const double best_width = truth.bounds.offsets(truth.bounds.best_drift(kLimits)).width();
    const ClockRange at_5e8 = truth.bounds.offsets(*drifts, 5e8);
    for (int i = 0; i <= 20'000; ++i) {
      const double drift = kLimits.low + kLimits.width() * i / 20'000;
      const ClockRange left = truth.bounds.offsets(drift, 5e8);
      ASSERT_LE(left.width(), best_width + 1e-3);
      if (left.width() < 0) continue;
      ASSERT_GE(drift, drifts->low - 1e-15);
      ASSERT_LE(drift, drifts->high + 1e-15);
      ASSERT_GE(left.low, at_5e8.low - 1e-3);
      ASSERT_LE(left.high, at_5e8.high + 1e-3);
    }
    // No offsets are left for drifts beyond the range, and the offsets at 5e8 extend no further
    // than some drift reaches.
    for (const double out : {drifts->low - 1e-6, drifts->high + 1e-6}) {
      if (out <= kLimits.low || out >= kLimits.high) continue;
      EXPECT_LT(truth.bounds.offsets(out).width(), 0) << out;
    }
    EXPECT_LE(at_5e8.width(), truth.bounds.least_width() + 1.5e9 * drifts->width() + 1);
  }
}

TEST(OffsetBounds, BoundsThatContradictLeaveNothing) {
  OffsetBounds bounds;
  EXPECT_TRUE(bounds.empty());
  bounds.add(0, {0, 10});
  bounds.add(1000, {500, 520});
  EXPECT_FALSE(bounds.drifts(kLimits)) << "an offset may change by 1 here";
  EXPECT_TRUE(bounds.drifts({0, 1}));
  EXPECT_EQ(bounds.least_width(), 10);
  EXPECT_NEAR(bounds.offsets(bounds.best_drift(kLimits)).width(), -489, 1e-6);
}

}  // namespace
}  // namespace hocket
