#include "archive/profiles/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

CalibratedProfile calibrated(double measured_ns) {
  CalibratedProfile profile{.calibration = {.step = small_step()}, .config = {}};
  profile.calibration.measured_iteration_ns = measured_ns;
  return profile;
}

TEST(CheckPrediction, IsTheSimulationAgainstWhatWasMeasured) {
  const auto truth = static_cast<double>(must(simulate(small_step(), {.config = {}})).iteration_ns);
  const auto check = must(check_prediction(calibrated(truth / 1.25)));
  EXPECT_EQ(check.predicted_ns, truth);
  EXPECT_NEAR(check.error(), 0.25, 1e-9);
  EXPECT_NEAR(must(check_prediction(calibrated(truth * 2))).error(), -0.5, 1e-9);
  EXPECT_EQ(must(check_prediction(calibrated(0))).error(), 0);
}

TEST(CheckPrediction, AnImpossibleConfigurationIsAnError) {
  auto profile = calibrated(1);
  profile.config.streams = 0;
  EXPECT_FALSE(check_prediction(profile));
}

TEST(WithheldPredictions, AreThoseOfAStepThatIsNotPredictedItself) {
  const Calibration calibration{.step = small_step()};
  const auto why = [&](double measured_ns, double predicted_ns) {
    return why_withheld(calibration, {.measured_ns = measured_ns, .predicted_ns = predicted_ns});
  };
  EXPECT_EQ(why(100, 100), "");
  EXPECT_EQ(why(100, 119), "");
  EXPECT_EQ(why(100, 81), "");
  EXPECT_THAT(why(100, 121), HasSubstr("21.0 % too long"));
  EXPECT_THAT(why(222.5, 50.71), HasSubstr("77.2 % too short"));
  EXPECT_THAT(why(222.5, 50.71), HasSubstr("record ten steps or more"));
}

TEST(WithheldPredictions, AreThoseOfUnknownBytesHoweverWellTheyFit) {
  Calibration calibration{.step = small_step()};
  calibration.unknown_collectives = 3;
  calibration.unknown_share = 0.04;
  EXPECT_EQ(why_withheld(calibration, {.measured_ns = 100, .predicted_ns = 100}), "");
  calibration.unknown_share = 0.5;
  const std::string why = why_withheld(calibration, {.measured_ns = 100, .predicted_ns = 100});
  EXPECT_THAT(why, HasSubstr("the bytes of 3 collectives, 50.0 % of"));
  EXPECT_THAT(why, HasSubstr("record_shapes=True"));
}

TEST(Extrapolation, IsBeyondTwiceTheMeasuredPartsAndBelowHalfOfThem) {
  Calibration calibration{.step = {}};
  calibration.step.tasks.resize(2);
  calibration.step.tasks[1].collective = CollectiveKind::all_reduce;
  calibration.step.tasks[1].bytes = 4 << 20;
  ScheduleConfig config;
  const auto is_one = [&](std::int64_t partition_bytes) {
    config.partition_bytes = partition_bytes;
    return why_extrapolated(calibration, config).has_value();
  };
  EXPECT_FALSE(is_one(1 << 30));  // nothing was measured
  calibration.least_part_bytes = 512 << 10;
  calibration.most_part_bytes = 1 << 20;
  EXPECT_FALSE(is_one(1 << 20));
  EXPECT_FALSE(is_one(2 << 20));
  EXPECT_TRUE(is_one((2 << 20) + 64));
  EXPECT_FALSE(is_one(256 << 10));
  EXPECT_TRUE(is_one((256 << 10) - 64));
  calibration.most_part_bytes = 2 << 20;
  EXPECT_FALSE(is_one(1 << 30));  // no tensor exceeds twice the largest measured part
}

}  // namespace
}  // namespace hocket
