#include "core/cuda/collectives/rank_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "core/host/local_collective.h"
#include "tests/core/cuda/model_device.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(RankDevices, TwoRanksOfAHostMustNotShareABusId) {
  const std::vector<RankDevice> devices{{"one", "0000:17:00.0", false, "one 5e"},
                                        {"one", "0000:65:00.0", false, "one 5e"},
                                        {"two", "0000:17:00.0", false, "two 9a"},
                                        {"one", "0000:65:00.0", false, "one 5e"},
                                        {"one", "0000:17:00.0", false, "one 5e"}};
  EXPECT_TRUE(check_devices_differ(std::span(devices).first(3)));
  const auto refused = check_devices_differ(devices);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("ranks 1 and 3"), HasSubstr("0000:65:00.0 of host one"),
                    HasSubstr("CUDA_VISIBLE_DEVICES"), HasSubstr("LOCAL_RANK"),
                    HasSubstr("--device cuda:N")));
}

// As NCCL does: the tests of NCCL run several ranks on one device that way.
TEST(RankDevices, RanksWithHostIdsOfTheirOwnMayShareADevice) {
  std::vector<RankDevice> devices{{"one", "0000:17:00.0", false, "rank0"},
                                  {"one", "0000:17:00.0", false, "rank1"}};
  EXPECT_TRUE(check_devices_differ(devices));
  devices.push_back({"one", "0000:17:00.0", false, "rank0"});
  const auto refused = check_devices_differ(devices);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("ranks 0 and 2"));
}

TEST(RankDevices, RanksThatNcclLetsShareADeviceMay) {
  std::vector<RankDevice> devices(2, {"one", "0000:17:00.0", true, "one 5e"});
  EXPECT_TRUE(check_devices_differ(devices));
  devices.push_back({"one", "0000:17:00.0", false, "one 5e"});
  const auto refused = check_devices_differ(devices);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("ranks 0 and 2"));
}

TEST(RankDevices, SaysWhichRankDoesNotKnowItsDevice) {
  const std::vector<RankDevice> devices{{"one", "0000:17:00.0", false, "one"},
                                        {"two", "", false, "two"}};
  const auto refused = check_devices_differ(devices);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("rank 1 on host two"));
}

TEST(RankDevices, EveryRankLearnsAllDevices) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto text = [&](std::size_t longest) {
      std::string made(random() % (longest + 1), ' ');
      for (char& c : made) c = static_cast<char>('!' + random() % 90);
      return made;
    };
    const int ranks = 1 + static_cast<int>(random() % 5);
    std::vector<RankDevice> devices;
    for (int rank = 0; rank < ranks; ++rank)
      devices.push_back({text(30), text(20), random() % 2 == 0, text(100) + "\n\xff" + text(100)});
    LocalGroup group(ranks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const auto messages = group.join(rank);
        const auto all = exchange_rank_devices(*messages, devices[static_cast<std::size_t>(rank)]);
        ASSERT_TRUE(all) << all.error().message;
        EXPECT_EQ(*all, devices);
      });
    }
  }
}

TEST(RankDevices, ARankWhoseIdentityIsTooLongIsCutAsNcclCutsIt) {
  LocalGroup group(1);
  const auto messages = group.join(0);
  const auto all =
      exchange_rank_devices(*messages, {"one", "0000:17:00.0", false, std::string(5000, 'x')});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->front().bus_id, "0000:17:00.0");
  EXPECT_LT(all->front().host_id.size(), 1024u);
}

TEST(RankDevices, TheHostIsWhatNcclTakesForIt) {
  ModelDevice device;
  ::unsetenv("NCCL_HOSTID");
  const RankDevice plain = rank_device(device);
  EXPECT_EQ(plain.bus_id, device.bus_id().value());
  EXPECT_THAT(plain.host_id, testing::StartsWith(plain.host_name));
  EXPECT_GT(plain.host_id.size(), plain.host_name.size()) << "the boot id is missing";
  ::setenv("NCCL_HOSTID", "rank7", 1);
  EXPECT_EQ(rank_device(device).host_id, "rank7");
  ::unsetenv("NCCL_HOSTID");
  EXPECT_FALSE(plain.may_share);
  ::setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  EXPECT_TRUE(rank_device(device).may_share);
  ::unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  device.fail_at(0);
  EXPECT_EQ(rank_device(device).bus_id, "");
}

}  // namespace
}  // namespace hocket
