// Tests the scheduler in jobs whose ranks run different programs: random ones, on ranks in memory
// and over Gloo, against the same job computed one task after the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/core/host/gloo_ranks.h"
#include "tests/core/host/ranks.h"
#include "tests/core/scheduler/rank_programs.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(RankPrograms, ComputeTheSameAsOneTaskAfterTheOther) {
  for (std::uint64_t seed = 1; seed <= rounds(120); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job_of_ranks(seed);
    const ScheduleConfig config = random_config_of_ranks(random);
    SerialJob serial(step);
    for (int i = 0; i < kStepsOfRanks; ++i) ASSERT_NO_FATAL_FAILURE(serial.run_step());
    run_local_mesh(mesh_of(step), [&](int rank, Collective& collective) {
      const auto& expected = serial.data[static_cast<std::size_t>(rank)].items;
      RankData data(expected.size(), rank);
      const auto ok = run_rank(step, config, Submits(seed % 3), collective, data);
      ASSERT_TRUE(ok) << ok.error().message;
      EXPECT_EQ(data.items, expected) << "rank " << rank;
    });
    ASSERT_FALSE(HasFailure());
  }
}

TEST(RankPrograms, ComputeTheSameOverGloo) {
  for (std::uint64_t seed = 1; seed <= rounds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job_of_ranks(seed);
    if (step.ranks > 8) continue;
    const ScheduleConfig config = random_config_of_ranks(random);
    SerialJob serial(step);
    for (int i = 0; i < kStepsOfRanks; ++i) ASSERT_NO_FATAL_FAILURE(serial.run_step());
    const MeetingFolder folder;
    run_gloo_mesh(mesh_of(step), folder.rendezvous(), [&](Collective& collective) {
      const auto& expected = serial.data[static_cast<std::size_t>(collective.rank())].items;
      RankData data(expected.size(), collective.rank());
      const auto ok = run_rank(step, config, Submits(seed % 3), collective, data);
      ASSERT_TRUE(ok) << ok.error().message;
      // Rings sum in another order.
      for (std::size_t item = 0; item < expected.size(); ++item) {
        for (std::size_t i = 0; i < kItemValues; ++i)
          ASSERT_NEAR(data.items[item][i], expected[item][i], 1e-4f * std::abs(expected[item][i]));
      }
    });
    ASSERT_FALSE(HasFailure());
  }
}

TEST(RankPrograms, EndWithAnErrorWhereARankFails) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job_of_ranks(seed);
    const ScheduleConfig config = random_config_of_ranks(random);
    const int failing = static_cast<int>(random() % static_cast<std::uint64_t>(step.ranks));
    const std::uint64_t fail_at = random() % 4;
    // The others must end at all; those that need nothing of the failing rank succeed.
    run_local_mesh(mesh_of(step), [&](int rank, Collective& collective) {
      ObservedCollective observed(collective, rank == failing ? fail_at : ~std::uint64_t{0});
      RankData data(4, rank);
      const auto ok = run_rank(step, config, Submits(seed % 2), observed, data);
      if (rank == failing && !ok) {
        EXPECT_THAT(ok.error().message, HasSubstr("injected failure"));
      }
    });
  }
}

/// Two ranks, and the configuration of the one that the test is about.
Result<void> exchange(const ScheduleConfig& config) {
  Result<void> first;
  run_local_ranks(2, [&](int rank, Collective& collective) {
    SteadyClock clock;
    HostExecutor executor(collective, clock);
    Scheduler scheduler(config, executor);
    const DataId data = scheduler.add_data();
    std::vector<float> values(256, static_cast<float>(rank));
    if (rank == 0) scheduler.send({.name = "on"}, data, values, CollectiveGroup::world, 1);
    if (rank == 1) scheduler.receive({.name = "from"}, data, values, CollectiveGroup::world, 0);
    auto ok = scheduler.end_step();
    if (ok) ok = scheduler.synchronize();
    if (ok) {
      EXPECT_EQ(values, std::vector<float>(256, 0));
    }
    if (rank == 0) first = ok;
  });
  return first;
}

TEST(RankPrograms, AreRefusedWhereTheConfigurationDoesNotFit) {
  EXPECT_TRUE(exchange({.order = CollectiveOrder::fifo}));
  EXPECT_THAT(exchange({.order = CollectiveOrder::negotiated}).error().message,
              HasSubstr("set order=fifo or order=static"));
  ScheduleConfig partitioned{.order = CollectiveOrder::fifo};
  partitioned.bucket_bytes = 1 << 20;
  EXPECT_THAT(exchange(partitioned).error().message, HasSubstr("neither partitioned nor placed"));
}

TEST(RankPrograms, GroupsHaveBlocksOfTheirOwn) {
  const Mesh mesh = Mesh::make({{"pipeline", 2}, {"data", 3}}, {6, 3}).value();
  const CollectiveGroup group = mesh.parse_group("data").value();
  run_local_mesh(mesh, [&](int rank, Collective& collective) {
    SteadyClock clock;
    HostExecutor executor(collective, clock);
    Scheduler scheduler({.partition_bytes = 4096, .order = CollectiveOrder::fifo}, executor);
    const DataId data = scheduler.add_data();
    std::vector<float> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(rank) + static_cast<float>(i % 11);
    scheduler.reduce_scatter({.name = "scatter"}, data, values, group);
    scheduler.all_gather({.name = "gather"}, data, values, group);
    ASSERT_TRUE(scheduler.end_step());
    ASSERT_TRUE(scheduler.synchronize());
    const float sum = rank < 3 ? 0 + 1 + 2 : 3 + 4 + 5;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], sum + 3 * static_cast<float>(i % 11)) << i;
  });
}

}  // namespace
}  // namespace hocket
