#include "profiler/metrics/profile_quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ProfileQuality, AQuietMachineIsGood) {
  const StepQuality quality = judge_profile(
      {.iterations = 20, .iteration_scatter = 0.01, .waiting_share = 0.005, .others_share = 0.02});
  EXPECT_LT(quality.uncertainty, 1.05);
  EXPECT_THAT(quality.reason, IsEmpty());
}

TEST(ProfileQuality, WaitingForProcessorsStretchesComputation) {
  // 90 ms of computation took 226 ms: the threads waited for 60 % of the time.
  const StepQuality quality = judge_profile({.iterations = 20, .waiting_share = 0.6});
  EXPECT_GT(quality.uncertainty, 10);
  EXPECT_THAT(quality.reason, AllOf(HasSubstr("waited 60"), Not(HasSubstr("iterations"))));
}

TEST(ProfileQuality, EachConditionMakesItWorse) {
  const ProfileConditions good{.iterations = 20, .waiting_share = 0.0, .others_share = 0.0};
  const double least = judge_profile(good).uncertainty;
  EXPECT_DOUBLE_EQ(least, 1);
  const auto worse = [&](auto change) {
    ProfileConditions conditions = good;
    change(conditions);
    const StepQuality quality = judge_profile(conditions);
    EXPECT_GT(quality.uncertainty, 1.1);
    EXPECT_THAT(quality.reason, Not(IsEmpty()));
  };
  worse([](ProfileConditions& c) { c.iterations = 2; });
  worse([](ProfileConditions& c) { c.iteration_scatter = 0.2; });
  worse([](ProfileConditions& c) { c.drift = -0.2; });
  worse([](ProfileConditions& c) { c.lost_share = 0.1; });
  worse([](ProfileConditions& c) { c.waiting_share = 0.1; });
  worse([](ProfileConditions& c) { c.others_share = 0.9; });
}

TEST(ProfileQuality, TheFactorIsWithinWhatADescriptionMayHold) {
  const ProfileConditions worst{0, 1e9, 1e9, 1, 1.0, 1.0};
  const StepQuality quality = judge_profile(worst);
  EXPECT_GE(quality.uncertainty, 1);
  EXPECT_LE(quality.uncertainty, 100);
}

TEST(ProfileQuality, DriftIsMoreThanScatter) {
  std::vector<double> steady, growing;
  for (int i = 0; i < 40; ++i) {
    steady.push_back(100 + i % 5);
    growing.push_back(100 + i + i % 5);
  }
  EXPECT_EQ(conditions_of(steady).drift, 0);
  EXPECT_NEAR(conditions_of(steady).iteration_scatter, 0.015, 0.01);
  EXPECT_NEAR(conditions_of(growing).drift, 0.2, 0.06);
  EXPECT_EQ(conditions_of({}).iterations, 0);
  EXPECT_EQ(conditions_of(std::vector<double>{3}).iterations, 1);
}

}  // namespace
}  // namespace hocket
