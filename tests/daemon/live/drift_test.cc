#include "daemon/live/drift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "benchmarks/host_noise.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

constexpr double kUsualNs = 1e8;

/// A job on a noisy host, and the detector that sees its iterations.
struct WatchedJob {
  WatchedJob(NoiseKind kind, std::uint64_t seed) : noise(kind, seed) {}

  /// Returns the number of iterations until a drift; 0 if there is none within `most`.
  int until_drift(double factor, int most) {
    for (int i = 1; i <= most; ++i) {
      if (detector.add(kUsualNs * factor * noise())) return i;
    }
    return 0;
  }

  HostNoise noise;
  DriftDetector detector = DriftDetector();
};

TEST(Drift, TheNoiseOfHostsIsHardlyEverOne) {
  for (const NoiseKind kind : kHostNoise) {
    SCOPED_TRACE(to_string(kind));
    std::uint64_t drifts = 0;
    for (std::uint64_t seed = 1; seed <= rounds(8); ++seed) {
      WatchedJob job(kind, seed);
      drifts += job.until_drift(1, 10'000) > 0;
    }
    EXPECT_LE(drifts, std::max<std::uint64_t>(rounds(8) / 4, 1)) << "jobs of 10,000 iterations";
  }
}

TEST(Drift, ThirtyPercentMoreOrLessIsNoticedWithin200Iterations) {
  for (const NoiseKind kind : kHostNoise) {
    SCOPED_TRACE(to_string(kind));
    const std::uint64_t jobs = rounds(20);
    std::uint64_t noticed = 0;
    for (std::uint64_t seed = 1; seed <= jobs; ++seed) {
      WatchedJob job(kind, 100 + seed);
      const double factor = seed % 2 == 0 ? 1.3 : 1 / 1.3;
      while (job.until_drift(1, 1000 + static_cast<int>(seed)) > 0) continue;
      noticed += job.until_drift(factor, 200) > 0;
    }
    EXPECT_GE(noticed, jobs * 85 / 100);
  }
}

TEST(Drift, OnAQuietHostATenthIsNoticedBothWaysAndThenUsual) {
  for (std::uint64_t seed = 1; seed <= rounds(4); ++seed) {
    SCOPED_TRACE(seed);
    for (const double factor : {1.1, 1 / 1.1}) {
      WatchedJob job(NoiseKind::quiet, seed);
      ASSERT_EQ(job.until_drift(1, 6000), 0);
      EXPECT_GT(job.until_drift(factor, 200), 100);
      EXPECT_NEAR(job.detector.drifted_from_ns(), kUsualNs, 2e6);
      EXPECT_NEAR(job.detector.drifted_to_ns(), kUsualNs * factor, 2e6);
      EXPECT_EQ(job.until_drift(factor, 1000), 0) << "the new times are the reference";
    }
  }
}

TEST(Drift, NeedsMoreWhereTheNoiseIsLarger) {
  WatchedJob quiet(NoiseKind::quiet, 1), wandering(NoiseKind::wandering, 1);
  const double at_first = quiet.detector.needed_share();
  EXPECT_GT(at_first, 0.2) << "nothing is known of the noise yet";
  EXPECT_LT(at_first, 0.6);
  ASSERT_EQ(quiet.until_drift(1, 10'000), 0);
  ASSERT_EQ(wandering.until_drift(1, 10'000), 0);
  EXPECT_LT(quiet.detector.needed_share(), 0.1);
  EXPECT_GT(wandering.detector.needed_share(), 0.2);
}

TEST(Drift, WhatLastsForHalfAWindowIsAHiccup) {
  WatchedJob job(NoiseKind::quiet, 5);
  ASSERT_EQ(job.until_drift(1, 2000), 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(job.until_drift(i % 2 == 0 ? 3 : 1.5, kDriftWindow / 2), 0);
    EXPECT_EQ(job.until_drift(1, kDriftWindow), 0);
  }
}

TEST(Drift, AnotherConfigurationHasAnotherTimeAndTheSameNoise) {
  WatchedJob job(NoiseKind::quiet, 6);
  ASSERT_EQ(job.until_drift(1, 6000), 0);
  const double needed = job.detector.needed_share();
  const std::vector<double> reference(30, 2 * kUsualNs);
  job.detector.restart(reference);
  EXPECT_EQ(job.detector.needed_share(), needed);
  EXPECT_EQ(job.until_drift(2, 2000), 0);
}

}  // namespace
}  // namespace hocket
