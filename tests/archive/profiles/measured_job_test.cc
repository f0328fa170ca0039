#include "archive/profiles/measured_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(MeasuredJob, ASimulatedJobIsPredictedWellAndHasNoNoise) {
  ProfiledJob stored;
  const auto job = must(measured_job(stored.add()));
  EXPECT_EQ(job.name, "job-1");
  EXPECT_NEAR(job.check.error(), 0, 0.02);
  EXPECT_NEAR(job.noise, 0, 0.02);
  EXPECT_EQ(job.profile.config.partition_bytes, 1 << 20);
}

TEST(MeasuredJob, JitterIsItsNoise) {
  ProfiledJob stored;
  auto step = small_step();
  step.jitter = {.kind = JitterKind::uniform, .scale = 0.2, .seed = 3};
  const auto job = must(measured_job(stored.add(step, small_options(60))));
  EXPECT_GT(job.noise, 0.01);
  EXPECT_LT(job.noise, 0.3);
}

TEST(MeasuredJob, SaysWhatIsDoubtful) {
  ProfiledJob stored;
  const auto job = must(measured_job(stored.add()));
  const auto measured = job_json(job, job.profile.config);
  EXPECT_EQ(measured["profile"], "job-1");
  auto config = job.profile.config;
  config.partition_bytes = 64;
  const auto doubtful = job_json(job, config);
  ASSERT_EQ(doubtful["notes"].size(), measured["notes"].size() + 1);
  EXPECT_THAT(doubtful["notes"].back().get<std::string>(), HasSubstr("is a guess"));
}

}  // namespace
}  // namespace hocket
