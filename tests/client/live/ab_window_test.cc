#include "client/live/ab_window.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace hocket {
namespace {

constexpr double kCurrentNs = 1e8;
#ifdef HOCKET_SANITIZED  // sanitized builds simulate ten times slower
constexpr int kRuns = 100;
#else
constexpr int kRuns = 400;
#endif

/// A job whose iteration times depend on the configuration, with noise.
struct SimulatedJob {
  double candidate = 1;   ///< time relative to the current configuration
  double noise = 0.02;    ///< sigma of a lognormal
  double stragglers = 0;  ///< share of iterations that take up to three times as long
  double memory = 0;      ///< share of the noise carried over to the next iteration
  /// Factor on the time, by the number of the iteration.
  std::function<double(int)> drift = [](int) { return 1.0; };
  AbWindowOptions options = {};
  int under_way = 0;  ///< iterations until a switch takes effect

  struct Result {
    AbWindowVerdict verdict;
    int candidate_iterations = 0, iterations = 0;
    double cost = 0;  ///< excess time over the current configuration, in iterations
  };

  Result run(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    int count = 0;
    double state = 0;
    const auto iteration = [&](AbSide side) {
      double ns = kCurrentNs * (side == AbSide::candidate ? candidate : 1) * drift(count++);
      state = memory * state + std::sqrt(1 - memory * memory) * normal(random);
      ns *= std::exp(noise * state);
      if (uniform(random) < stragglers) ns *= 1 + 2 * uniform(random);
      return static_cast<std::int64_t>(ns);
    };
    std::vector<std::int64_t> before;
    for (int i = 0; i < 20; ++i) before.push_back(iteration(AbSide::current));
    AbWindow window(options, before);
    Result result;
    std::deque<AbSide> ahead(static_cast<std::size_t>(under_way), AbSide::current);
    while (!window.verdict() && result.iterations < 10'000) {
      ahead.push_back(window.next());
      const AbSide side = ahead.front();
      ahead.pop_front();
      const auto ns = iteration(side);
      window.add(side, ns, under_way);
      ++result.iterations;
      result.candidate_iterations += side == AbSide::candidate;
      if (side == AbSide::candidate) result.cost += static_cast<double>(ns) / kCurrentNs - 1;
    }
    if (window.verdict()) result.verdict = *window.verdict();
    return result;
  }

  /// Returns the share of runs for which `holds`.
  double share(const std::function<bool(const Result&)>& holds) const {
    int count = 0;
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) count += holds(run(seed));
    return static_cast<double>(count) / kRuns;
  }
};

bool kept(const SimulatedJob::Result& result) {
  return result.verdict.keep;
}

TEST(AbWindow, SeldomKeepsAnEqualCandidateAndSpendsLittleOnIt) {
  for (const double noise : {0.005, 0.02, 0.1}) {
    for (const double stragglers : {0.0, 0.05}) {
      for (const int under_way : {0, 4}) {
        const SimulatedJob job{.noise = noise, .stragglers = stragglers, .under_way = under_way};
        EXPECT_LE(job.share(kept), 0.05) << noise << ' ' << stragglers << ' ' << under_way;
        EXPECT_LE(job.share([](const auto& r) { return r.verdict.slower; }), 0.15);
        EXPECT_GE(job.share([](const auto& r) { return r.cost < 6; }), 0.95);
        EXPECT_GE(job.share([](const auto& r) { return r.iterations <= 30; }), 0.9);
      }
    }
  }
}

TEST(AbWindow, DropsACandidateOfTwiceTheTimeAtOnce) {
  for (const double noise : {0.02, 0.1}) {
    const SimulatedJob job{.candidate = 2, .noise = noise};
    EXPECT_GE(job.share([](const auto& r) {
      return r.verdict.slower && !r.verdict.keep && r.candidate_iterations <= 3;
    }),
              0.95)
        << noise;
  }
}

TEST(AbWindow, KeepsACandidateThatIsATenthFaster) {
  for (const int under_way : {0, 4}) {
    const SimulatedJob job{.candidate = 0.9, .under_way = under_way};
    EXPECT_GE(job.share(kept), 0.95) << under_way;
    EXPECT_GE(job.share([](const auto& r) { return r.iterations <= 80; }), 1.0);
  }
}

TEST(AbWindow, KeepsASmallGainThatIsAboveTheNoise) {
  const SimulatedJob job{.candidate = 0.95, .noise = 0.03, .stragglers = 0.02};
  EXPECT_GE(job.share(kept), 0.75);
}

TEST(AbWindow, NoiseThatLastsIsSeldomTakenForAGain) {
  for (const double memory : {0.5, 0.8, 0.95}) {
    EXPECT_LE((SimulatedJob{.noise = 0.05, .memory = memory}).share(kept), 0.1) << memory;
  }
}

TEST(AbWindow, DropsWhatIsALittleSlowerInTheEnd) {
  const SimulatedJob job{.candidate = 1.1};
  EXPECT_LE(job.share(kept), 0.001);
  EXPECT_GE(job.share([](const auto& r) { return r.verdict.slower; }), 0.95);
}

TEST(AbWindow, ADriftOfBothIsSeldomTakenForAGain) {
  const auto jump = [](int i) { return i < 33 ? 1.0 : 1.3; };
  const auto fall = [](int i) { return i < 33 ? 1.3 : 1.0; };
  const auto slope = [](int i) { return 1 - 0.002 * i; };
  for (const auto& drift : {std::function<double(int)>(jump), std::function<double(int)>(fall),
                            std::function<double(int)>(slope)}) {
    EXPECT_LE((SimulatedJob{.drift = drift}).share(kept), 0.08);
    EXPECT_LE((SimulatedJob{.candidate = 1.1, .drift = drift}).share(kept), 0.08);
  }
}

TEST(AbWindow, APushIsKeptUnlessItIsSlower) {
  const AbWindowOptions push{.guard_level = 0.05, .keep_undecided = true};
  EXPECT_GE((SimulatedJob{.options = push}).share(kept), 0.9);
  EXPECT_GE((SimulatedJob{.candidate = 0.95, .options = push}).share(kept), 0.98);
  EXPECT_LE((SimulatedJob{.candidate = 1.15, .options = push}).share(kept), 0.02);
}

TEST(AbWindow, WhatIsWithinTheNoiseIsNotAboveIt) {
  for (const double candidate : {0.9, 0.97, 1.0, 1.03, 1.15}) {
    const SimulatedJob job{.candidate = candidate, .noise = 0.2};
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
      const std::string text = job.run(seed).verdict.reason;
      const auto within = text.find(", within the noise of ");
      if (within == std::string::npos) continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + text);
      EXPECT_LE(std::stod(text), std::stod(text.substr(within + 22)));
    }
  }
}

TEST(AbWindow, ASingleEndlessIterationEndsIt) {
  const std::vector<std::int64_t> before(8, 100);
  AbWindow window({.longest_ns = 1000}, before);
  window.add(AbSide::current, 2000);
  EXPECT_FALSE(window.verdict());
  window.add(AbSide::candidate, 1001);
  ASSERT_TRUE(window.verdict());
  EXPECT_FALSE(window.verdict()->keep);
  EXPECT_EQ(window.next(), AbSide::current);
  EXPECT_EQ(window.candidate_ns(), std::vector<std::int64_t>{1001});
}

TEST(AbWindow, WaitsForTheSwitchWhateverRunsUntilThen) {
  const std::vector<std::int64_t> before(8, 100);
  AbWindow window({}, before);
  for (int i = 0; i < 8; ++i) window.add(AbSide::current, 100);
  EXPECT_EQ(window.next(), AbSide::candidate);
}

TEST(AbWindow, TakesBlocksInTurnAndDropsTheFirstOfEach) {
  const std::vector<std::int64_t> before(8, 100);
  AbWindow window({.block_iterations = 2}, before);
  std::string ran;
  // Four iterations of each are too few for significance at six looks; six are enough.
  for (int i = 0; !window.verdict() && i < 100; ++i) {
    const AbSide side = window.next();
    ran += side == AbSide::current ? 'c' : 'k';
    window.add(side, (side == AbSide::current ? 100 : 80) + i % 2);
  }
  EXPECT_EQ(ran, "kkkkkccccckkk");
  EXPECT_EQ(window.candidate_ns().size(), 6u);
  EXPECT_EQ(window.current_ns().size(), 6u);
  ASSERT_TRUE(window.verdict());
  EXPECT_TRUE(window.verdict()->keep);
}

}  // namespace
}  // namespace hocket
