#include "core/host/local_collective.h"

#include <gtest/gtest.h>

#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

TEST(LocalCollective, AnIndexMayComeAgainAtOnce) {
  run_local_ranks(3, [](int rank, Collective& collective) {
    for (int round = 0; round < 2000; ++round) {
      float value = static_cast<float>(round + rank);
      const auto ok = collective.all_reduce({&value, 1}, 0);
      ASSERT_TRUE(ok) << ok.error().message;
      ASSERT_EQ(value, static_cast<float>(3 * round + 3)) << "rank " << rank << " round " << round;
    }
  });
}

TEST(LocalCollective, SchedulersOneAfterTheOtherShareIt) {
  run_local_ranks(2, [](int, Collective& collective) {
    const SteadyClock clock;
    std::vector<float> values(100, 1);
    for (int round = 0; round < 20; ++round) {
      ScheduleConfig config;
      config.partition_bytes = 64 << round % 3;
      config.order = round % 2 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
      config.comm_channels = 2;
      HostExecutor executor(collective, clock);
      Scheduler scheduler(config, executor);
      scheduler.all_reduce({.name = "values", .priority = 0}, scheduler.add_data(), values);
      const auto ok = scheduler.synchronize();
      ASSERT_TRUE(ok) << ok.error().message;
      ASSERT_EQ(values, std::vector<float>(100, static_cast<float>(2 << round)));
    }
  });
}

}  // namespace
}  // namespace hocket
