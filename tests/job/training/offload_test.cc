// Training on a device with limited memory and its host computes what training on the host does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/job/training/offloaded_job.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRoomy = 8 << 20;

ScheduleConfig offload_of(std::int64_t layers, std::int64_t prefetched = 1, int streams = 1) {
  return {.streams = streams, .offload_k = layers, .prefetch_layers = prefetched};
}

TEST(Offload, EveryNumberOfLayersGivesTheHostsBits) {
  const LanguageTraining options{.steps = 4};
  const OffloadedOutcome expected = train_alone(options, {}, std::nullopt);
  for (std::int64_t layers = 0; layers <= kOffloadedLayers + 1; ++layers) {
    for (std::int64_t prefetched = 0; prefetched <= 2; ++prefetched) {
      SCOPED_TRACE(testing::Message() << layers << " layers, " << prefetched << " fetched ahead");
      const ScheduleConfig config = offload_of(layers, prefetched);
      const std::int64_t least = least_device_bytes(options, config);
      for (const std::int64_t bytes : {kRoomy, 3 * least / 2, least})
        EXPECT_EQ(train_alone(options, config, bytes), expected) << bytes;
    }
  }
}

TEST(Offload, FewerLayersNeedLessMemory) {
  std::int64_t before = 0;
  for (std::int64_t layers = 0; layers <= kOffloadedLayers; ++layers) {
    const std::int64_t least = least_device_bytes({}, offload_of(layers));
    EXPECT_GE(least, before) << layers;
    before = least;
  }
  const std::int64_t of_model = 3 * LanguageModel(offloaded_model(), {}).workload().bytes();
  EXPECT_GT(least_device_bytes({}, offload_of(kOffloadedLayers)), of_model);
  EXPECT_LT(2 * least_device_bytes({}, offload_of(0, 0)), before);
}

TEST(Offload, MicroBatchesGiveTheHostsBits) {
  const LanguageTraining options{.steps = 3, .micro_batches = 3};
  const OffloadedOutcome expected = train_alone(options, {}, std::nullopt);
  for (std::int64_t layers = 0; layers <= kOffloadedLayers; ++layers) {
    const ScheduleConfig config = offload_of(layers);
    for (const std::int64_t bytes : {kRoomy, least_device_bytes(options, config)})
      EXPECT_EQ(train_alone(options, config, bytes), expected) << layers << ", " << bytes;
  }
}

TEST(Offload, RanksGiveTheHostsBits) {
  for (const bool shards : {false, true}) {
    SCOPED_TRACE(shards);
    LanguageTraining options{.steps = 3};
    constexpr int kRanks = 3;
    options.shards_optimiser = shards;
    options.grid = {kRanks, kRanks};
    const auto outcomes = [&](const ScheduleConfig& config, std::optional<std::int64_t> bytes) {
      std::vector<std::optional<OffloadedOutcome>> of_ranks(kRanks);
      run_local_ranks(kRanks, [&](int rank, Collective& collective) {
        LanguageTraining own = options;
        own.rank = rank;
        OffloadedJob job(collective, own, config, bytes);
        const auto ran = job.run(3);
        ASSERT_TRUE(ran) << ran.error().message;
        of_ranks[static_cast<std::size_t>(rank)].emplace(*job.model);
      });
      return of_ranks;
    };
    const auto expected = outcomes({}, std::nullopt);
    ASSERT_TRUE(expected.front());
    EXPECT_EQ(expected.front()->hash, expected.back()->hash);
    for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      std::mt19937_64 random(seed);
      ScheduleConfig config =
          offload_of(static_cast<std::int64_t>(random() % (kOffloadedLayers + 1)),
                     static_cast<std::int64_t>(random() % 3), static_cast<int>(1 + random() % 3));
      config.partition_bytes = std::int64_t{4096} << random() % 4;
      config.order = random() % 2 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
      const std::int64_t bytes = random() % 2 ? kRoomy : least_device_bytes(options, config);
      EXPECT_EQ(outcomes(config, bytes), expected);
    }
  }
}

TEST(Offload, TheNumberOfLayersChangesBetweenSteps) {
  const LanguageTraining options{.steps = 10};
  const OffloadedOutcome expected = train_alone(options, {}, std::nullopt);
  LocalGroup group(1);
  const auto collective = group.join(0);
  OffloadedJob job(*collective, options, offload_of(2), kRoomy);
  for (const std::int64_t layers : {2, 0, 4, 1, 3}) {
    ASSERT_TRUE(job.scheduler->reconfigure(offload_of(layers, layers % 3)));
    ASSERT_TRUE(job.run(2));
  }
  EXPECT_EQ(OffloadedOutcome(*job.model), expected);
}

TEST(Offload, AnotherSubmitterFindsTheParametersOfTheLastOne) {
  const LanguageTraining options{.steps = 4};
  LocalGroup group(1);
  const auto collective = group.join(0);
  OffloadedJob job(*collective, options, offload_of(2), kRoomy);
  ASSERT_TRUE(job.run(2));
  const std::uint64_t hash = job.model->hash();
  const StepDescription step = record_step(**job.model);
  EXPECT_EQ(job.model->hash(), hash);
  EXPECT_EQ(step.data_places.size(), step.data.size());
}

TEST(Offload, ADeviceThatIsTooSmallIsRefusedBeforeAnythingRuns) {
  for (const std::int64_t layers : {std::int64_t{0}, kOffloadedLayers}) {
    SCOPED_TRACE(layers);
    const std::int64_t least = least_device_bytes({}, offload_of(layers));
    LocalGroup group(1);
    const auto collective = group.join(0);
    OffloadedJob job(*collective, {}, offload_of(layers), least - 256);
    const std::uint64_t hash = job.model->hash();
    const auto refused = job.run(2);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(
        refused.error().message,
        testing::ContainsRegex("task \"[^\"]+\" needs [0-9]+ B on the device|without gaps"));
    EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(least - 256)));
    EXPECT_EQ(job.memory->copies, 0);
    EXPECT_EQ(job.model->hash(), hash);
  }
}

TEST(Offload, ACopyThatThrowsEndsTheJobAndIsNamed) {
  const auto fail_at = [](int at) {
    LocalGroup group(1);
    const auto collective = group.join(0);
    OffloadedJob job(*collective, {}, offload_of(1, 1, 2), kRoomy);
    job.memory->fails_at = at;
    const auto ran = job.run(2);
    return std::pair(job.memory->copies.load(), ran ? "" : ran.error().message);
  };
  const auto [copies, message] = fail_at(-1);
  ASSERT_EQ(message, "");
  ASSERT_GT(copies, 20);
  for (int at = 0; at < copies; at += 3) {
    EXPECT_THAT(fail_at(at).second,
                testing::MatchesRegex("task \"(fetch|evict) .*injected failure"));
  }
}

TEST(Offload, ATaskThatThrowsOnEitherSideEndsTheJobAndIsNamed) {
  for (const std::int64_t layers : {1, 3}) {
    for (const char* task :
         {"adamw of up.weight in block0.mlp/update", "adamw of qkv.bias in block1.attention/update",
          "adamw of positions in embedding/update", "matmul with up.weight in block1.mlp",
          "matmul with up.weight in block1.mlp/backward"}) {
      LocalGroup group(1);
      const auto collective = group.join(0);
      OffloadedJob job(*collective, {}, offload_of(layers), kRoomy, task);
      const auto failed = job.run(3);
      ASSERT_FALSE(failed) << task;
      EXPECT_EQ(failed.error().message,
                "task \"" + std::string(task) + "\" threw: injected failure");
    }
  }
}

TEST(Offload, AMemoryThatCannotPlaceEndsTheJob) {
  LocalGroup group(1);
  const auto collective = group.join(0);
  OffloadedJob job(*collective, {}, offload_of(1), kRoomy);
  job.memory->fails_to_place = true;
  EXPECT_EQ(job.run(2).error().message, "injected failure");
}

}  // namespace
}  // namespace hocket
