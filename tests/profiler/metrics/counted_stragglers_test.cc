#include "profiler/metrics/counted_stragglers.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/rounds.h"

namespace hocket {
namespace {

constexpr double kIterationNs = 100e6;

/// One rank's iteration: when it is ready for the last collective, and what it counts.
struct PlantedRank {
  double computes_ns = 60e6;
  double processor_ns = 60e6;
  double issued_late_ns = 0;
  double transfer_ns = 10e6;
  double sending_ns = 1e6;
};

/// Counters of iterations of a synchronous job; `plant` changes what a rank does in an iteration.
std::vector<CountedSteps> iterations(
    std::mt19937& random, int ranks, int count,
    const std::function<void(int step, std::vector<PlantedRank>& all)>& plant,
    double noise_ns = 1e6) {
  std::normal_distribution<double> noise(0, noise_ns);
  std::vector<CountedSteps> windows;
  for (int step = 0; step < count; ++step) {
    std::vector<PlantedRank> all(static_cast<std::size_t>(ranks));
    plant(step, all);
    double last_ns = 0;
    for (PlantedRank& rank : all) {
      const double more_ns = std::abs(noise(random));
      rank.computes_ns += more_ns;
      rank.processor_ns += more_ns;
      last_ns = std::max(last_ns, rank.computes_ns + rank.issued_late_ns);
    }
    CountedSteps window{.step = step};
    for (const PlantedRank& rank : all) {
      const double waits_ns = last_ns - rank.computes_ns - rank.issued_late_ns + rank.transfer_ns;
      window.ranks.push_back({static_cast<std::int64_t>(waits_ns),
                              static_cast<std::int64_t>(rank.computes_ns),
                              static_cast<std::int64_t>(rank.processor_ns),
                              static_cast<std::int64_t>(rank.sending_ns)});
    }
    windows.push_back(std::move(window));
  }
  return windows;
}

Stragglers found_in(const std::vector<CountedSteps>& counted, double iteration_ns = kIterationNs) {
  return find_stragglers(straggler_input(counted, iteration_ns));
}

/// Returns the ranks that are to blame.
std::vector<StragglerRank> blamed(const Stragglers& found) {
  std::vector<StragglerRank> ranks;
  for (const StragglerRank& rank : found.ranks) {
    if (rank.pattern != StragglerPattern::none) ranks.push_back(rank);
  }
  return ranks;
}

TEST(CountedStragglers, PlantedCausesAreNamed) {
  constexpr StragglerCause kCauses[] = {StragglerCause::computation, StragglerCause::host,
                                        StragglerCause::link};
  int right = 0, all = 0;
  for (unsigned seed = 0; seed < rounds(120); ++seed) {
    std::mt19937 random(seed);
    const int ranks = 2 + static_cast<int>(random() % 15);
    const auto late = static_cast<std::size_t>(random() % static_cast<unsigned>(ranks));
    const StragglerCause cause = kCauses[seed % 3];
    const bool in_bursts = seed % 2 == 0 && cause != StragglerCause::link;
    // A quarter of the steps has bursts; their mean counts.
    const double by_ns = (8e6 + static_cast<double>(random() % 40) * 1e6) * (in_bursts ? 3.0 : 1.0);
    const auto plant = [&](int, std::vector<PlantedRank>& job) {
      if (in_bursts && random() % 4 != 0) return;
      PlantedRank& rank = job[late];
      if (cause == StragglerCause::computation) rank.computes_ns += by_ns;
      if (cause == StragglerCause::host) rank.issued_late_ns += by_ns;
      if (cause != StragglerCause::link) return;
      // A ring waits for its slowest link.
      for (PlantedRank& each : job) each.transfer_ns = 30e6 + by_ns;
      rank.sending_ns = 30e6 + by_ns;
    };
    const auto found = blamed(found_in(iterations(random, ranks, 150, plant)));
    ++all;
    if (found.size() == 1 && found[0].cause == cause &&
        found[0].rank == static_cast<std::int64_t>(late))
      ++right;
    else
      std::printf("seed %u: %zu blamed\n", seed, found.size());
  }
  EXPECT_GE(right, all * 97 / 100);
}

TEST(CountedStragglers, WhereNothingIsPlantedNobodyIsBlamed) {
  int blamed_jobs = 0;
  const auto jobs = static_cast<int>(rounds(160));
  for (int seed = 0; seed < jobs; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const int ranks = 2 + static_cast<int>(random() % 15);
    const double noise_ns = 1e5 * std::pow(10.0, static_cast<double>(seed % 4) * 0.75);
    const auto nothing = [&](int, std::vector<PlantedRank>& job) {
      for (PlantedRank& rank : job) rank.sending_ns = static_cast<double>(random() % 40) * 1e6;
    };
    blamed_jobs +=
        blamed(found_in(iterations(random, ranks, 150, nothing, noise_ns))).empty() ? 0 : 1;
  }
  EXPECT_LE(blamed_jobs, jobs * 2 / 100);
}

TEST(CountedStragglers, WithoutTheIterationTimeThereIsNoVerdict) {
  std::mt19937 random(1);
  const auto plant = [](int, std::vector<PlantedRank>& job) { job[0].computes_ns *= 2; };
  const auto counted = iterations(random, 3, 40, plant);
  EXPECT_EQ(found_in(counted, 0).verdict, StragglerVerdict::too_few);
  EXPECT_EQ(found_in({}).verdict, StragglerVerdict::too_few);
  EXPECT_EQ(found_in(counted).verdict, StragglerVerdict::late_ranks);
}

TEST(CountedStragglers, RanksHaveTheMediansOfTheirCounters) {
  std::vector<CountedSteps> counted;
  for (std::int64_t step = 0; step < 9; ++step)
    counted.push_back({.step = step, .ranks = {{.waited_ns = step}, {}}});
  const auto ranks = counted_stragglers_json(counted, 100)["ranks"];
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0]["waited_ns"], 4);
  EXPECT_FALSE(ranks[0].contains("computed_ns"));
  EXPECT_FALSE(ranks[1].contains("waited_ns"));
}

TEST(CountedStragglers, WhateverAJobReportsIsRead) {
  for (unsigned seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto any = [&]() -> std::int64_t {
      const auto kind = random() % 4;
      if (kind == 0) return kNotCounted;
      if (kind == 1) return 0;
      return static_cast<std::int64_t>(random() >> (11 + random() % 50));
    };
    std::vector<CountedSteps> counted(random() % 60);
    const auto ranks = 1 + random() % 5;
    for (CountedSteps& steps : counted) {
      steps.ranks.resize(random() % 10 == 0 ? 1 + random() % 9 : ranks);
      for (RankCounters& rank : steps.ranks) rank = {any(), any(), any(), any()};
    }
    EXPECT_FALSE(counted_stragglers_json(counted, static_cast<double>(any())).dump().empty());
  }
}

}  // namespace
}  // namespace hocket
