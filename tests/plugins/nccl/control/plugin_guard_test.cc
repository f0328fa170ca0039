#include "plugins/nccl/control/plugin_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

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
  PluginGuard guard(true);
  guard.add_device(2, kOne);
  guard.add_device(2, kOne);
  guard.add_device(0, kOther);
  EXPECT_EQ(guard.must_be_off(), "") << "a rank may say it again";
  guard.add_device(1, kOne);
  EXPECT_THAT(guard.must_be_off(), HasSubstr("ranks 1 and 2 share a GPU"));
  guard.add_device(3, kOther);
  EXPECT_THAT(guard.must_be_off(), HasSubstr("ranks 1 and 2 share a GPU"));
  EXPECT_EQ(guard.timing_cost(), "");
}

class Iterations {
 public:
  /// Adds so many rounds of iterations without and with events, `noise` ns to and fro.
  void add(int rounds, std::int64_t without_ns, std::int64_t with_ns, std::int64_t noise) {
    for (int round = 0; round < rounds; ++round) {
      for (const Events events : {Events::counted, Events::timed}) {
        for (std::size_t i = 0; i < PluginGuard::kCompared; ++i) {
          const std::int64_t shift = (static_cast<std::int64_t>(i % 3) - 1) * noise;
          guard.add_iterations((events == Events::timed ? with_ns : without_ns) + shift, 1, events);
        }
      }
    }
  }
  PluginGuard guard{false};
};

TEST(PluginGuard, TimingThatMakesIterationsSlowerTwiceIsGivenUp) {
  Iterations iterations;
  iterations.add(1, 1000, 1100, 10);
  EXPECT_EQ(iterations.guard.timing_cost(), "") << "once may be chance";
  iterations.add(1, 1000, 1100, 10);
  EXPECT_EQ(iterations.guard.timing_cost(), "iterations in which they are timed take 10 % longer");
  EXPECT_EQ(iterations.guard.must_be_off(), "");
}

TEST(PluginGuard, TimingThatCostsNothingOrLessThanTheNoiseStays) {
  Iterations faster, little, noisy, sometimes, first;
  faster.add(20, 1100, 1000, 0);
  little.add(20, 1000, 1020, 0);
  noisy.add(20, 1000, 1100, 200);
  for (int round = 0; round < 10; ++round) {
    sometimes.add(1, 1000, 1100, 10);
    sometimes.add(1, 1000, 1000, 10);
  }
  for (int i = 0; i < 100; ++i) first.guard.add_iterations(5000, 1, Events::timed);
  for (const Iterations* each : {&faster, &little, &noisy, &sometimes, &first})
    EXPECT_EQ(each->guard.timing_cost(), "");
}

/// Runs a job whose ranks do at once what the guard wants, until it has compared.
class Beginning {
 public:
  using IterationNs = std::function<std::int64_t(Events, int number)>;

  void run(const IterationNs& iteration_ns) {
    Events before = Events::timed;
    for (; guard.is_comparing() && guard.must_be_off().empty() && iterations < 1000; ++iterations) {
      const Events events = guard.events();
      phases += events != before;
      before = events;
      guard.add_iterations(iteration_ns(events, iterations), together, events);
    }
  }

  PluginGuard guard{true};
  int iterations = 0, phases = 0, together = 1;
};

constexpr std::int64_t kMillisecondNs = 1'000'000;

TEST(PluginGuard, ReportsThatCostNothingAreComparedOnce) {
  Beginning job;
  EXPECT_EQ(job.guard.events(), Events::none);
  job.run([](Events, int number) { return (100 + number % 3) * kMillisecondNs; });
  EXPECT_FALSE(job.guard.is_comparing());
  EXPECT_EQ(job.guard.must_be_off(), "");
  EXPECT_EQ(job.guard.events(), Events::counted);
  EXPECT_EQ(job.iterations, 24);
}

TEST(PluginGuard, TheFirstIterationsWithoutEventsTakeASecond) {
  Beginning job;
  job.run([](Events, int) { return 25 * kMillisecondNs; });
  EXPECT_EQ(job.iterations, 40 + 12);
  Beginning short_ones;
  short_ones.together = 100;
  short_ones.run([](Events, int) { return kMillisecondNs / 4; });
  EXPECT_EQ(short_ones.iterations, 40 + 12);
}

TEST(PluginGuard, ReportsThatMakeIterationsSlowerThriceSwitchThePluginOff) {
  Beginning job;
  job.run(
      [](Events events, int) { return (events == Events::counted ? 112 : 100) * kMillisecondNs; });
  EXPECT_EQ(job.guard.must_be_off(),
            "iterations take 12 % longer while NCCL reports collectives to the plugin");
  EXPECT_EQ(job.phases, 6) << "without, with, and so on";
}

TEST(PluginGuard, AJobThatBecomesSlowerByItselfKeepsThePlugin) {
  Beginning job;
  job.run([](Events, int number) { return (number < 12 ? 100 : 130) * kMillisecondNs; });
  EXPECT_EQ(job.guard.must_be_off(), "");
  EXPECT_FALSE(job.guard.is_comparing());
  EXPECT_EQ(job.phases, 4);
}

TEST(PluginGuard, ASlowStartDoesNotHideTheCost) {
  Beginning job;
  job.run([](Events events, int number) {
    return number < 15 ? 400 * kMillisecondNs
                       : (events == Events::counted ? 112 : 100) * kMillisecondNs;
  });
  EXPECT_THAT(job.guard.must_be_off(), HasSubstr("12 % longer"));
}

TEST(PluginGuard, ComparesNoMoreThanSixTimes) {
  Beginning job;
  job.run([](Events, int number) { return (2000 - number) * kMillisecondNs; });
  EXPECT_FALSE(job.guard.is_comparing()) << "it became faster all the time";
  EXPECT_EQ(job.guard.must_be_off(), "");
  EXPECT_EQ(job.phases, 12);
}

TEST(PluginGuard, WithoutIterationsThereIsNothingToCompare) {
  PluginGuard guard(true);
  guard.add_iterations(100 * kMillisecondNs, 1, Events::asked);
  guard.cannot_compare();
  EXPECT_FALSE(guard.is_comparing());
  EXPECT_EQ(guard.events(), Events::counted);
}

}  // namespace
}  // namespace hocket::nccl
