// Tests the model on ranks with a device each, with simulated devices and collectives, under the
// transformations of a step by configurations. Sums over four ranks by hosts round differently from
// sums over all at once; otherwise the bits equal those of the plain step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_executor.h"
#include "examples/gpt2/cuda/device_backend.h"
#include "job/training/training.h"
#include "tests/core/cuda/model_device.h"
#include "tests/core/cuda/model_group.h"
#include "tests/core/host/ranks.h"
#include "tests/examples/gpt2/cuda/model_products.h"
#include "tests/examples/gpt2/model/host_model.h"

namespace hocket {
namespace {

constexpr std::int64_t kRankSteps = 3;
constexpr Gpt2Config kRankConfig{
    .layers = 1, .heads = 2, .d_model = 16, .sequence = 4, .batch = 1, .vocabulary = 128};
const Text kRankText("whoever rests while the others sing is part of the song all the same");

struct RanksJob {
  ElementType type = ElementType::float32;
  int ranks = 2, ranks_per_host = 2;
  bool shard_optimizer = false;
  ScheduleConfig config = {};
};

struct RankResult {
  std::vector<float> losses;
  std::uint64_t hash = 0;
  std::int64_t optimizer_bytes = 0;
  std::int64_t graph_launches = 0;
};

TrainingOptions options_of(const RanksJob& job, int rank) {
  return {.steps = kRankSteps,
          .rank = rank,
          .world_size = job.ranks,
          .ranks_per_host = job.ranks_per_host,
          .shard_optimizer = job.shard_optimizer};
}

std::vector<RankResult> train_on_devices(const RanksJob& job) {
  const KernelsInStreams kernels;
  ModelGroup group(job.ranks);
  std::vector<RankResult> results(static_cast<std::size_t>(job.ranks));
  const auto body = [&](int rank, Collective& messages) {
    const SteadyClock clock;
    ModelDevice device(static_cast<std::uint64_t>(rank) + 1);
    ModelProducts products(device);
    ModelCollective world(group, device, rank);
    DeviceGroups groups(world, messages.mesh());
    {
      auto backend = DeviceBackend::open({.driver = device, .products = products}, job.type);
      HOCKET_CHECK(backend, "the model device opens");
      auto model = Gpt2::create(kRankConfig, options_of(job, rank), kRankText, **backend);
      HOCKET_CHECK(model, "the model fits");
      const Training training{
          .model = **model, .collective = messages, .clock = clock, .make_executor = [&] {
            return std::make_unique<DeviceExecutor>(device, groups, (*backend)->memory(), messages,
                                                    clock);
          }};
      const auto ok =
          run_phase(training, {.config = job.config, .first_step = 0, .end_step = kRankSteps});
      EXPECT_TRUE(ok) << ok.error().message;
      results[static_cast<std::size_t>(rank)] = {(*model)->losses(), (*model)->parameters_hash(),
                                                 (*model)->optimizer_bytes(),
                                                 device.graph_launches()};
    }
    EXPECT_THAT(device.problems(), testing::IsEmpty());
  };
  run_local_ranks(job.ranks, body, 60'000'000'000, job.ranks_per_host);
  return results;
}

void expect_same_bits(const std::vector<RankResult>& results,
                      const std::vector<RankResult>& expected) {
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    EXPECT_EQ(results[rank].losses, expected[rank].losses) << "rank " << rank;
    EXPECT_EQ(results[rank].hash, expected[rank].hash) << "rank " << rank;
  }
}

void expect_close(const std::vector<RankResult>& results, const std::vector<RankResult>& expected) {
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    EXPECT_EQ(results[rank].hash, results[0].hash) << "ranks have come apart";
    for (std::size_t step = 0; step < kRankSteps; ++step)
      EXPECT_NEAR(results[rank].losses[step], expected[rank].losses[step], 2e-5)
          << "rank " << rank << ", step " << step;
  }
}

TEST(DeviceRanks, LossesAreThoseOfHosts) {
  std::vector<RankResult> expected(2);
  run_local_ranks(
      2,
      [&](int rank, Collective& collective) {
        const SteadyClock clock;
        const HostModel model(kRankConfig, options_of({}, rank), kRankText);
        const auto ok = run_phase({*model, collective, clock},
                                  {.config = {}, .first_step = 0, .end_step = kRankSteps});
        EXPECT_TRUE(ok) << ok.error().message;
        expected[static_cast<std::size_t>(rank)].losses = model->losses();
      },
      60'000'000'000, 2);
  expect_close(train_on_devices({}), expected);
}

TEST(DeviceRanks, StepsAsGraphsGiveTheSameBits) {
  const auto expected = train_on_devices({});
  EXPECT_NE(expected[0].losses, expected[1].losses) << "each rank has batches of its own";
  const auto graphs = train_on_devices({.config = {.streams = 2, .step_issue = StepIssue::graph}});
  expect_same_bits(graphs, expected);
  EXPECT_EQ(graphs[0].graph_launches, kRankSteps - 1);
}

TEST(DeviceRanks, PartitionedCollectivesGiveTheSameBits) {
  const auto expected = train_on_devices({});
  ScheduleConfig config{
      .partition_bytes = 4096, .credit_bytes = 8192, .streams = 2, .comm_channels = 2};
  config.regions["backward_layer0"].primitive = CollectivePrimitive::reduce_scatter_all_gather;
  expect_same_bits(train_on_devices({.config = config}), expected);
  config.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  config.launch = CollectiveLaunch::deferred;
  config.bucket_bytes = 8192;
  expect_same_bits(train_on_devices({.config = config}), expected);
  config.step_issue = StepIssue::graph;
  const auto graphs = train_on_devices({.config = config});
  expect_same_bits(graphs, expected);
  EXPECT_EQ(graphs[0].graph_launches, kRankSteps - 2);
}

TEST(DeviceRanks, FourRanksInGroupsOrWithShardsGiveTheSameLosses) {
  const RanksJob job{.ranks = 4, .ranks_per_host = 2};
  const auto expected = train_on_devices(job);
  for (const auto primitive :
       {CollectivePrimitive::all_reduce, CollectivePrimitive::reduce_scatter_all_gather}) {
    RanksJob grouped = job;
    grouped.config.group_ranks = 2;
    grouped.config.primitive = primitive;
    grouped.config.partition_bytes = 4096;
    expect_close(train_on_devices(grouped), expected);
  }
  // The final norm has 32 values and a block 16, so two of the ranks own no part of it.
  RanksJob sharded = job;
  sharded.shard_optimizer = true;
  expect_close(train_on_devices(sharded), expected);
}

// With bfloat16 a rank computes the weights of others' blocks from the gathered ones.
TEST(DeviceRanks, AShardedOptimizerGivesTheSameBits) {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    const auto whole = train_on_devices({.type = type});
    ScheduleConfig config;
    config.partition_bytes = 4096;
    if (type == ElementType::bfloat16) config.step_issue = StepIssue::graph;
    const auto sharded =
        train_on_devices({.type = type, .shard_optimizer = true, .config = config});
    expect_same_bits(sharded, whole);
    EXPECT_EQ(sharded[0].graph_launches, type == ElementType::bfloat16 ? kRankSteps - 1 : 0);
    // Blocks begin at multiples of 64 bytes.
    EXPECT_NEAR(static_cast<double>(sharded[0].optimizer_bytes) /
                    static_cast<double>(whole[0].optimizer_bytes),
                0.5, 0.01);
  }
}

}  // namespace
}  // namespace hocket
