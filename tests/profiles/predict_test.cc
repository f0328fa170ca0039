#include "profiles/predict.h"

#include <gtest/gtest.h>

#include "tests/profiles/profiled_job.h"

namespace hocket {
namespace {

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

}  // namespace
}  // namespace hocket
