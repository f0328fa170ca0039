#include "core/cuda/collectives/nccl_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "core/cuda/driver/capability.h"
#include "core/host/local_collective.h"
#include "tests/core/cuda/model_device.h"

namespace hocket {
namespace {

TEST(NcclCollective, ASoleRankNeedsNoDevice) {
  LocalGroup group(1);
  const auto messages = group.join(0);
  ModelDevice device;
  const auto connected = connect_nccl(*messages, device);
  ASSERT_TRUE(connected) << connected.error().message;
  EXPECT_EQ((*connected)->world_size(), 1);
  EXPECT_TRUE((*connected)->open(4));
  EXPECT_TRUE((*connected)->health());
  std::vector<float> values(3);
  EXPECT_TRUE((*connected)->reduce_scatter(values, 0, {}));
  EXPECT_TRUE((*connected)->all_gather(values, 0, {}));
  EXPECT_TRUE((*connected)->broadcast(values, 0, 0, {}));
  EXPECT_FALSE((*connected)->broadcast(values, 1, 0, {}));
  EXPECT_EQ((*connected)->split(3).value()->world_size(), 1);
}

/// Connects two ranks of one host on the same device; returns their errors.
std::vector<Error> connect_two_ranks() {
  LocalGroup group(2, 1'000'000'000);
  std::vector<Error> errors(2, {ErrorCode::not_found, "none"});
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto messages = group.join(rank);
      ModelDevice device;
      const auto connected = connect_nccl(*messages, device, {.timeout_ns = 5'000'000'000});
      if (!connected) errors[static_cast<std::size_t>(rank)] = connected.error();
    });
  }
  ranks.clear();
  return errors;
}

TEST(NcclCollective, TwoRanksOnOneDeviceAreToldSo) {
  const std::vector<Error> errors = connect_two_ranks();
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_EQ(errors[0].code, ErrorCode::invalid_argument);
  EXPECT_THAT(errors[0].message, testing::HasSubstr("ranks 0 and 1 use the same GPU"));
}

TEST(NcclCollective, WithoutADeviceNoRankConnectsAndEachSaysWhy) {
  if (probe_cuda()) GTEST_SKIP() << "there is a device";
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  const std::vector<Error> errors = connect_two_ranks();
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
  for (const Error& error : errors) {
    EXPECT_EQ(error.code, ErrorCode::unavailable);
    EXPECT_THAT(error.message, testing::HasSubstr("connecting the devices"));
  }
}

TEST(NcclCollective, ADeviceThatCannotBeUsedIsNotConnected) {
  LocalGroup group(2, 1'000'000'000);
  const auto messages = group.join(0);
  ModelDevice device;
  device.fail_at(0);
  const auto connected = connect_nccl(*messages, device);
  ASSERT_FALSE(connected);
  EXPECT_THAT(connected.error().message, testing::HasSubstr("the model device has failed"));
}

TEST(NcclCollective, OrdersCommunicatorsUnlessTheEnvironmentSaysOtherwise) {
  constexpr const char* kOrder = "NCCL_LAUNCH_ORDER_IMPLICIT";
  for (const char* const told : {"", "0"}) {
    *told ? setenv(kOrder, told, 1) : unsetenv(kOrder);
    LocalGroup group(2, 1'000'000);
    const auto messages = group.join(0);
    ModelDevice device;
    EXPECT_FALSE(connect_nccl(*messages, device, {.timeout_ns = 1'000'000}));
    EXPECT_STREQ(std::getenv(kOrder), *told ? told : "1");
  }
  unsetenv(kOrder);
}

}  // namespace
}  // namespace hocket
