#include "core/sim/step_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

#include "core/sim/simulator.h"
#include "tests/core/sim/random_steps.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// Returns whether the simulated period respects the bound. A period that does not settle is a mean
/// that includes the ends of its window.
testing::AssertionResult bounded(const Simulation& result) {
  const double tolerance = result.iterations_ns.size() < 64 ? 1 : 1.01;
  if (static_cast<double>(result.iteration_ns) * tolerance + 4 >=
      static_cast<double>(result.bound_ns))
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << result.iteration_ns << " ns are less than the bound of " << result.bound_ns << " ns";
}

TEST(StepBound, NoPartitioningIsFasterThanItsBound) {
  std::uint64_t simulated = 0;
  for (std::uint64_t seed = 0; seed < rounds(1000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto step = random_training_step(random);
    SimulationOptions options;
    options.config = random_partition(random, step);
    const auto result = simulate(step, options);
    if (!result) continue;
    ++simulated;
    ASSERT_TRUE(bounded(*result)) << to_json(options.config);
  }
  EXPECT_GT(simulated, rounds(500));
}

TEST(StepBound, NorOfASimpleStep) {
  std::uint64_t simulated = 0;
  for (std::uint64_t seed = 0; seed < rounds(1000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto step = random_chain(random);
    const auto grid = random_training_step(random);
    step.ranks = grid.ranks;
    step.ranks_per_host = grid.ranks_per_host;
    step.collective = grid.collective;
    step.cluster = grid.cluster;
    step.channel_split = 0;
    SimulationOptions options;
    options.config = random_partition(random, step);
    options.config.regions.clear();
    const auto result = simulate(step, options);
    if (!result) continue;
    ++simulated;
    ASSERT_TRUE(bounded(*result)) << to_json(options.config);
  }
  EXPECT_GT(simulated, rounds(500));
}

TEST(StepBound, ATierBoundsByItself) {
  // 8 ranks on two hosts: for 1 MB, 2 · 3/4 · 10 ns per byte on the hosts' links, and 2 · 1/2 · 100
  // ns per byte on the network.
  StepDescription step;
  step.layers = {{"layer", 1'000'000, 1000, 2000}};
  step.ranks = 8;
  step.ranks_per_host = 4;
  step.cluster = Cluster{
      .host_link = {1e8, 0}, .network_link = {1e7, 0}, .algorithm = CollectiveAlgorithm::automatic};
  ScheduleConfig config;
  EXPECT_EQ(bound_of(step, config)->bound_ns, 3000 + 175'000'000) << "2 · 7/8 over the network";
  config.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  EXPECT_EQ(bound_of(step, config)->bound_ns, 3000 + 175'000'000);
  config.group_ranks = 4;
  const auto grouped = bound_of(step, config);
  EXPECT_EQ(grouped->bound_ns, 3000 + 100'000'000);
  EXPECT_EQ(grouped->communication_ns, 115'000'000);
  // Only the region with the layer's name overrides the layer's knobs.
  config.group_ranks = 1;
  config.regions["layer"].group_ranks = 4;
  EXPECT_EQ(bound_of(step, config)->bound_ns, 3000 + 100'000'000);
}

}  // namespace
}  // namespace hocket
