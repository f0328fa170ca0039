// Tests the model on ranks that are threads, under all transformations that a configuration can
// apply to a step: the loss curve equals the plain step's.
//
// Equality is exact if sums are taken in the same order: the sum a + b of two ranks has only one.
// Otherwise it holds within kTolerance: products in pieces, and sums of four ranks by hosts, round
// differently, by 2^-24 of a gradient each. AdamW divides gradients by their own size. So if a
// gradient is nothing but such rounding, its parameter moves by up to the learning rate either way,
// but the loss depends on it equally little. In these few steps none of this is visible in a loss
// of 24 bits; a gradient that lacks a part changes the loss by a thousandth.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/partitioning/step_partition.h"
#include "core/sim/simulator.h"
#include "job/step/step_recorder.h"
#include "job/training/training.h"
#include "tests/core/host/ranks.h"
#include "tests/job/graph/language_model.h"

namespace hocket {
namespace {

constexpr std::int64_t kPartitionedSteps = 6;
constexpr float kTolerance = 1e-5f;  // relative to the loss

struct Job {
  int ranks = 2, ranks_per_host = 2;
  int micro_batches = 1;
  bool shard_optimizer = false;
  ScheduleConfig config = {};
};

struct RankOutcome {
  std::vector<float> losses;
  std::size_t hash = 0;
};

LanguageTraining options_of(const Job& job, int rank) {
  return {.steps = kPartitionedSteps,
          .rank = rank,
          .grid = {job.ranks, job.ranks_per_host},
          .micro_batches = job.micro_batches,
          .micro_batches_kept = std::min(job.config.micro_batches_kept, job.micro_batches),
          .shards_optimiser = job.shard_optimizer};
}

std::vector<RankOutcome> train(const Job& job) {
  std::vector<RankOutcome> outcomes(static_cast<std::size_t>(job.ranks));
  const auto body = [&](int rank, Collective& collective) {
    const SteadyClock clock;
    const LanguageModel model(small_gpt2(2, 32, 16), options_of(job, rank));
    TrainingPhase phase{.config = job.config, .first_step = 0, .end_step = kPartitionedSteps};
    if (job.config.order == CollectiveOrder::static_order) {
      auto step = record_step(*model);
      step.collective.beta_ns_per_byte = 1;
      auto order = static_order(step, job.config);
      ASSERT_TRUE(order) << order.error().message;
      phase.options.static_order = std::move(*order);
    }
    const auto ok = run_phase({*model, collective, clock}, phase);
    EXPECT_TRUE(ok) << ok.error().message;
    outcomes[static_cast<std::size_t>(rank)] = {model.losses(), model.hash()};
  };
  run_local_ranks(job.ranks, body, 60'000'000'000, job.ranks_per_host);
  return outcomes;
}

/// Returns the outcome of the same job with the default schedule.
const std::vector<RankOutcome>& plain(const Job& job) {
  static std::map<std::pair<int, int>, std::vector<RankOutcome>> known;
  auto& outcomes = known[{job.ranks, job.micro_batches}];
  if (outcomes.empty()) {
    outcomes = train({.ranks = job.ranks,
                      .ranks_per_host = job.ranks_per_host,
                      .micro_batches = job.micro_batches});
  }
  return outcomes;
}

void expect_same_bits(const Job& job) {
  SCOPED_TRACE(to_json(job.config).dump());
  const std::vector<RankOutcome>& expected = plain(job);
  const std::vector<RankOutcome> outcomes = train(job);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(outcomes[rank].losses, expected[rank].losses) << "rank " << rank;
    EXPECT_EQ(outcomes[rank].hash, expected[rank].hash) << "rank " << rank;
  }
}

void expect_close(const Job& job) {
  SCOPED_TRACE(to_json(job.config).dump());
  const std::vector<RankOutcome>& expected = plain(job);
  const std::vector<RankOutcome> outcomes = train(job);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(outcomes[rank].hash, outcomes[0].hash) << "ranks have come apart";
    for (std::size_t step = 0; step < kPartitionedSteps; ++step) {
      const float loss = expected[rank].losses[step];
      EXPECT_NEAR(outcomes[rank].losses[step], loss, kTolerance * loss)
          << "rank " << rank << ", step " << step;
    }
  }
}

/// Draws transformations that compute each product and each sum as before.
ScheduleConfig without_division(std::mt19937_64& random, int ranks_per_host) {
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  ScheduleConfig config;
  config.partition_bytes = std::int64_t{4096} << draw(0, 6);
  config.credit_bytes = std::int64_t{4096} << draw(0, 8);
  config.streams = static_cast<int>(draw(1, 3));
  config.comm_channels = static_cast<int>(draw(1, 3));
  config.order = static_cast<CollectiveOrder>(draw(0, 2));
  config.bucket_bytes = draw(0, 1) * (std::int64_t{4096} << draw(0, 6));
  config.primitive = static_cast<CollectivePrimitive>(draw(0, 1));
  config.group_ranks = draw(0, 1) ? ranks_per_host : 1;
  config.launch = static_cast<CollectiveLaunch>(draw(0, 1));
  config.compute_order = static_cast<ComputeOrder>(draw(0, 1));
  config.micro_batches_kept = static_cast<int>(draw(1, 4));
  if (draw(0, 1)) {
    RegionOverrides& region = config.regions["backward_block" + std::to_string(draw(0, 1))];
    region.partition_bytes = std::int64_t{4096} << draw(0, 3);
    region.primitive = static_cast<CollectivePrimitive>(draw(0, 1));
    region.launch = static_cast<CollectiveLaunch>(draw(0, 1));
    region.priority = draw(0, 20);
    region.streams = 1;
  }
  return config;
}

/// Draws configurations that also divide computations.
ScheduleConfig any_config(std::mt19937_64& random, int ranks_per_host) {
  ScheduleConfig config = without_division(random, ranks_per_host);
  config.bucket_bytes = 0;
  config.compute_parts = static_cast<int>(1 + random() % 5);
  if (random() % 2) {
    RegionOverrides& region = config.regions["backward_block1"];
    region.compute_parts = 3;
    if (random() % 2) region.dimension = random() % 2 ? "units" : "summands";
  }
  return config;
}

Job two_ranks(int micro_batches = 1) {
  return {.ranks = 2, .ranks_per_host = 2, .micro_batches = micro_batches};
}
Job two_hosts(int micro_batches = 1) {
  return {.ranks = 4, .ranks_per_host = 2, .micro_batches = micro_batches};
}

TEST(PartitionedGraph, EachTransformationKeepsTheBitsOfTwoRanks) {
  std::vector<ScheduleConfig> configs(10);
  configs[0].partition_bytes = 4096;
  configs[1].bucket_bytes = 64 << 10;
  configs[2].primitive = CollectivePrimitive::reduce_scatter_all_gather;
  configs[3].primitive = CollectivePrimitive::reduce_scatter_all_gather;
  configs[3].launch = CollectiveLaunch::deferred;
  configs[3].partition_bytes = 8192;
  configs[4].group_ranks = 2;
  configs[5].compute_order = ComputeOrder::critical_path;
  configs[5].streams = 3;
  configs[6].primitive = CollectivePrimitive::reduce_scatter_all_gather;
  configs[6].order = CollectiveOrder::static_order;
  configs[7].primitive = CollectivePrimitive::reduce_scatter_all_gather;
  configs[7].order = CollectiveOrder::negotiated;
  configs[8].regions["backward_block0"].launch = CollectiveLaunch::deferred;
  configs[8].regions["backward_block1"].partition_bytes = 4096;
  configs[9].regions["update_block1"].priority = 0;
  for (const ScheduleConfig& config : configs) {
    Job job = two_ranks();
    job.config = config;
    expect_same_bits(job);
  }
}

TEST(PartitionedGraph, KeptMicroBatchesDoNotChangeABit) {
  for (const int kept : {2, 3, 5}) {
    Job job = two_ranks(5);
    job.config.micro_batches_kept = kept;
    job.config.streams = 2;
    expect_same_bits(job);
  }
}

TEST(PartitionedGraph, AShardedOptimizerKeepsTheBitsOfTwoRanks) {
  for (const int micro_batches : {1, 3}) {
    Job job = two_ranks(micro_batches);
    job.shard_optimizer = true;
    expect_same_bits(job);
    job.config.launch = CollectiveLaunch::deferred;
    job.config.partition_bytes = 4096;
    expect_same_bits(job);
  }
}

TEST(PartitionedGraph, RandomCombinationsKeepTheBitsOfTwoRanks) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Job job = two_ranks(1 + static_cast<int>(random() % 3));
    job.shard_optimizer = random() % 2;
    job.config = without_division(random, 2);
    expect_same_bits(job);
  }
}

TEST(PartitionedGraph, DividedComputationsAreWithinRounding) {
  for (const int parts : {2, 3, 8}) {
    Job job = two_ranks(2);
    job.config.compute_parts = parts;
    job.config.partition_bytes = 4096;
    job.config.streams = 2;
    expect_close(job);
  }
  for (const char* dimension : {"units", "summands"}) {
    Job job = two_ranks();
    job.config.regions["backward_block0"].compute_parts = 2;
    job.config.regions["backward_block0"].dimension = dimension;
    expect_close(job);
  }
}

TEST(PartitionedGraph, TwoHostsAreWithinRounding) {
  Job job = two_hosts();
  job.config.group_ranks = 2;
  expect_close(job);
  job.config.partition_bytes = 4096;
  job.config.launch = CollectiveLaunch::deferred;
  expect_close(job);
  job.shard_optimizer = true;
  expect_close(job);
}

TEST(PartitionedGraph, RandomCombinationsAreWithinRounding) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Job job = random() % 2 ? two_hosts(1 + static_cast<int>(random() % 3))
                           : two_ranks(1 + static_cast<int>(random() % 3));
    job.shard_optimizer = random() % 2;
    job.config = any_config(random, 2);
    expect_close(job);
  }
}

}  // namespace
}  // namespace hocket
