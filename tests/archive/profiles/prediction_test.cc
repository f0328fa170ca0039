#include "archive/profiles/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

MeasuredJob job_with(double measured_ns, double predicted_ns, double noise) {
  return {.name = "job",
          .profile = {.calibration = {.step = small_step()}, .config = {}},
          .check = {.measured_ns = measured_ns, .predicted_ns = predicted_ns},
          .noise = noise};
}

TEST(ErrorBar, IsTheLargerOfErrorAndNoise) {
  const auto wrong = error_bar(job_with(1000, 1100, 0.02), 2000);
  EXPECT_NEAR(wrong.low_ns, 1800, 1e-6);
  EXPECT_NEAR(wrong.high_ns, 2200, 1e-6);
  EXPECT_THAT(wrong.basis, HasSubstr("10.0 % too long"));
  const auto noisy = error_bar(job_with(1000, 990, 0.25), 2000);
  EXPECT_NEAR(noisy.low_ns, 1500, 1e-6);
  EXPECT_NEAR(noisy.high_ns, 2500, 1e-6);
  EXPECT_THAT(noisy.basis, HasSubstr("too short"));
  EXPECT_EQ(error_bar(job_with(1000, 9000, 0), 2000).low_ns, 0);
}

TEST(Prediction, IsAgainstItsBaseline) {
  const Prediction prediction{{}, must(simulate(small_step(), {.config = {}}))};
  const auto iteration_ns = prediction.simulation.iteration_ns;
  const PredictionBaseline baseline{"before", {}, 2 * iteration_ns};
  EXPECT_NEAR(speedup(prediction, baseline), 2, 1e-9);
  const auto document = prediction_json(small_step(), prediction, baseline);
  EXPECT_EQ(document["iteration_ns"], iteration_ns);
  EXPECT_EQ(document["baseline"]["name"], "before");
  EXPECT_EQ(document["ranks"], 2);
}

TEST(Prediction, IsComparedWithNothingWhereComparisonsAreWithheld) {
  StepDescription step = small_step();
  EXPECT_TRUE(check_comparable(step, false));
  const Prediction prediction{{}, must(simulate(step, {.config = {}}))};
  const PredictionBaseline baseline{"before", {}, 1};
  EXPECT_TRUE(prediction_json(step, prediction, baseline)["withheld"].is_null());
  step.quality = {100, "very uncertain"};
  EXPECT_TRUE(check_comparable(step, false)) << "uncertainty alone withholds nothing";
  step.prediction_withheld = "record more";
  EXPECT_TRUE(check_comparable(step, true));
  const auto refused = check_comparable(step, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("record more"));
  const auto document = prediction_json(step, prediction, baseline);
  EXPECT_TRUE(document["speedup"].is_null());
  EXPECT_EQ(document["withheld"], "record more");
}

TEST(Prediction, DoubtsNameWhatHasNoEffectAndWhatWasNotMeasured) {
  EXPECT_THAT(doubts_on(nullptr, {}), IsEmpty());
  ScheduleConfig config;
  config.step_issue = StepIssue::graph;
  EXPECT_THAT(doubts_on(nullptr, config), SizeIs(1));
  auto job = job_with(1, 1, 0);
  job.profile.calibration.step.tasks.resize(1);
  job.profile.calibration.step.tasks[0].collective = CollectiveKind::all_reduce;
  job.profile.calibration.step.tasks[0].bytes = 1 << 30;
  job.profile.calibration.least_part_bytes = job.profile.calibration.most_part_bytes = 1 << 10;
  EXPECT_THAT(doubts_on(&job, config), SizeIs(2));
}

}  // namespace
}  // namespace hocket
