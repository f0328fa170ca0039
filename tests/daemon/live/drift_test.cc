#include "daemon/live/drift.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

class Times {
 public:
  Times(double noise, double straggler_share, std::uint64_t seed)
      : noise_(0, noise), straggler_share_(straggler_share), random_(seed) {}

  double operator()(double scale = 1) {
    const bool straggles = std::uniform_real_distribution<>()(random_) < straggler_share_;
    return 1e7 * scale * noise_(random_) * (straggles ? 3 : 1);
  }

 private:
  std::lognormal_distribution<> noise_;
  double straggler_share_;
  std::mt19937_64 random_;
};

/// Returns the number of blocks until a drift; 0 if there is none within `most`.
int blocks_until_drift(DriftDetector& detector, Times& times, double scale, int most) {
  for (int block = 1; block <= most; ++block) {
    for (std::size_t i = 0; i < kDriftBlock; ++i) {
      if (detector.add(times(scale))) return block;
    }
  }
  return 0;
}

TEST(Drift, EqualTimesAreHardlyEverOne) {
  for (const double noise : {0.01, 0.05, 0.1}) {
    SCOPED_TRACE(noise);
    Times times(noise, 0.05, 11);
    DriftDetector detector;
    int drifts = 0;
    for (int block = 0; block < 10'000;) {
      const int after = blocks_until_drift(detector, times, 1, 10'000 - block);
      if (after == 0) break;
      ++drifts;
      block += after;
    }
    EXPECT_LE(drifts, 1) << "of 10,000 blocks";
  }
}

TEST(Drift, AStepOfATenthIsNoticedWithinThreeBlocksBothWays) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    for (const double scale : {1.1, 1 / 1.1}) {
      Times times(0.02, 0, seed);
      DriftDetector detector;
      ASSERT_EQ(blocks_until_drift(detector, times, 1, 12), 0);
      const int blocks = blocks_until_drift(detector, times, scale, 3);
      EXPECT_GT(blocks, 1);
      EXPECT_NEAR(detector.drifted_to_ns(), 1e7 * scale, 3e5);
      // The new times have become the reference.
      EXPECT_EQ(blocks_until_drift(detector, times, scale, 10), 0);
    }
  }
}

TEST(Drift, OneBlockIsAHiccup) {
  Times times(0.02, 0, 5);
  DriftDetector detector;
  ASSERT_EQ(blocks_until_drift(detector, times, 1, 10), 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(blocks_until_drift(detector, times, i % 2 ? 3 : 0.5, 1), 0);
    EXPECT_EQ(blocks_until_drift(detector, times, 1, 1), 0);
  }
}

TEST(Drift, OneSideAndThenTheOtherIsNotOne) {
  Times times(0.02, 0, 5);
  DriftDetector detector;
  ASSERT_EQ(blocks_until_drift(detector, times, 1, 10), 0);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(blocks_until_drift(detector, times, i % 2 ? 2 : 0.5, 1), 0);
  }
}

TEST(Drift, AShortReferenceIsFilledUpFirst) {
  DriftDetector detector({10, 10, 10});
  EXPECT_EQ(detector.reference_ns(), 10);
  EXPECT_EQ(DriftDetector().reference_ns(), 0);
  for (std::size_t i = 3; i < 2 * kDriftBlock; ++i) EXPECT_FALSE(detector.add(20));
  EXPECT_EQ(detector.reference_ns(), 20);
  for (std::size_t i = 0; i < 5 * kDriftBlock; ++i) EXPECT_FALSE(detector.add(20));
}

}  // namespace
}  // namespace hocket
