#include "plugins/nccl/control/plugin_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::nccl {
namespace {

using ::testing::HasSubstr;

constexpr DeviceId kOne = {1}, kOther = {1, 2};

TEST(RankDevice, IsReadBackAndNothingElseIs) {
  const std::string bytes = encode_device(kOther);
  EXPECT_EQ(decode_device(bytes), kOther);
  EXPECT_EQ(decode_device(""), std::nullopt);
  EXPECT_EQ(decode_device(bytes + "x"), std::nullopt);
  EXPECT_EQ(decode_device(bytes.substr(1)), std::nullopt);
  EXPECT_EQ(decode_device(bytes.substr(0, 18)), std::nullopt);
  EXPECT_EQ(decode_device("HM\2" + bytes.substr(3)), std::nullopt);
}

TEST(PluginGuard, RanksThatShareADeviceSwitchThePluginOff) {
  PluginGuard guard;
  guard.add_device(2, kOne);
  guard.add_device(2, kOne);
  guard.add_device(0, kOther);
  EXPECT_EQ(guard.must_be_off(), "") << "a rank may say it again";
  guard.add_device(1, kOne);
  EXPECT_THAT(guard.must_be_off(), HasSubstr("ranks 1 and 2 share a GPU"));
  guard.add_device(3, kOther);
  EXPECT_THAT(guard.must_be_off(), HasSubstr("ranks 1 and 2 share a GPU"));
  EXPECT_EQ(guard.events_cost(), "");
}

class Iterations {
 public:
  /// Adds so many rounds of iterations without and with events, `noise` ns to and fro.
  void add(int rounds, std::int64_t without_ns, std::int64_t with_ns, std::int64_t noise) {
    for (int round = 0; round < rounds; ++round) {
      for (const bool with_events : {false, true}) {
        for (std::size_t i = 0; i < PluginGuard::kCompared; ++i) {
          const std::int64_t shift = (static_cast<std::int64_t>(i % 3) - 1) * noise;
          guard.add_iteration((with_events ? with_ns : without_ns) + shift, with_events);
        }
      }
    }
  }
  PluginGuard guard;
};

TEST(PluginGuard, EventsThatMakeIterationsSlowerTwiceAreGivenUp) {
  Iterations iterations;
  iterations.add(1, 1000, 1100, 10);
  EXPECT_EQ(iterations.guard.events_cost(), "") << "once may be chance";
  iterations.add(1, 1000, 1100, 10);
  EXPECT_EQ(iterations.guard.events_cost(), "iterations in which they are timed take 10 % longer");
  EXPECT_EQ(iterations.guard.must_be_off(), "");
}

TEST(PluginGuard, EventsThatCostNothingOrLessThanTheNoiseStay) {
  Iterations faster, little, noisy, sometimes, first;
  faster.add(20, 1100, 1000, 0);
  little.add(20, 1000, 1020, 0);
  noisy.add(20, 1000, 1100, 200);
  for (int round = 0; round < 10; ++round) {
    sometimes.add(1, 1000, 1100, 10);
    sometimes.add(1, 1000, 1000, 10);
  }
  for (int i = 0; i < 100; ++i) first.guard.add_iteration(5000, true);
  for (const Iterations* each : {&faster, &little, &noisy, &sometimes, &first})
    EXPECT_EQ(each->guard.events_cost(), "");
}

}  // namespace
}  // namespace hocket::nccl
