#include "tuner/study/few_measurements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tuner/trial/early_end.h"
#include "tuner/trial/warm_up.h"

namespace hocket {
namespace {

TrialOutcome run_of(std::size_t count, double value, double wall_ns = 0) {
  TrialOutcome outcome = complete_trial(std::vector<double>(count, value));
  if (wall_ns > 0) outcome.metrics["wall_ns"] = {wall_ns};
  return outcome;
}

bool fails(const TrialOutcome& first, const TrialOutcome& outcome,
           Direction direction = Direction::minimise) {
  return few_measurements(first, outcome, direction).has_value();
}

TEST(FewMeasurements, FewerThanHalfOfThoseOfTheDefaultAreAFailure) {
  EXPECT_THAT(few_measurements(run_of(60, 72), run_of(12, 16), Direction::minimise).value(),
              ::testing::StartsWith("it delivered 12 measurements, and the default 60: "));
  EXPECT_TRUE(fails(run_of(60, 72), run_of(29, 16)));
  EXPECT_FALSE(fails(run_of(60, 72), run_of(30, 16)));
  EXPECT_FALSE(fails(run_of(12, 16), run_of(60, 72)));
  EXPECT_TRUE(fails(run_of(60, 72), run_of(12, 90), Direction::maximise));
}

TEST(FewMeasurements, AWarmUpCountsAsDelivered) {
  TrialOutcome outcome = run_of(26, 16);
  EXPECT_TRUE(fails(run_of(60, 72), outcome));
  outcome.metrics[kWarmUpMetric] = {200, 180, 150, 120};
  EXPECT_FALSE(fails(run_of(60, 72), outcome));
}

TEST(FewMeasurements, WhatWasEndedEarlyMayHaveFew) {
  TrialOutcome outcome = run_of(5, 90);
  outcome.metrics[kEndedEarlyMetric] = {5};
  EXPECT_FALSE(fails(run_of(60, 72), outcome));
}

TEST(FewMeasurements, ASlowSettingOfARunOfFixedTimeMayHaveFew) {
  EXPECT_FALSE(fails(run_of(60, 10, 600), run_of(20, 30, 590)));
  EXPECT_TRUE(fails(run_of(60, 10, 600), run_of(20, 30, 200))) << "it ended before its time";
  EXPECT_TRUE(fails(run_of(60, 10, 600), run_of(20, 5, 590))) << "where are the others?";
}

TEST(FewMeasurements, WhatHasNoNumberToCompareMayHaveFew) {
  EXPECT_FALSE(fails(run_of(3, 10), run_of(1, 5)));
  EXPECT_FALSE(fails(TrialOutcome(), run_of(1, 5)));
  EXPECT_FALSE(fails(run_of(60, 10), TrialOutcome()));
}

}  // namespace
}  // namespace hocket
