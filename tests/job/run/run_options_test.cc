#include "job/run/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/scoped_environment.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(RunOptions, TooFewStepsAreRefused) {
  EXPECT_TRUE(check_steps({.steps = 5, .warmup = 3}));
  EXPECT_THAT(check_steps({.steps = 4, .warmup = 3}).error().message,
              HasSubstr("ask for at least 5"));
  EXPECT_TRUE(check_steps({.steps = 18, .profile = "step.json"}));
  EXPECT_THAT(check_steps({.steps = 17, .profile = "step.json"}).error().message,
              HasSubstr("ask for at least 18"));
}

TEST(RunOptions, ARecordedJobTakesNoRequests) {
  EXPECT_FALSE(takes_requests({}));
  EXPECT_TRUE(takes_requests({.watch = true}));
  EXPECT_TRUE(takes_requests({.profile_on_request = true}));
  const RunOptions recorded{.record = "run.tape", .watch = true};
  EXPECT_FALSE(takes_requests(recorded));
  EXPECT_TRUE(is_live(recorded));
}

TEST(RunOptions, ADeviceIsProfiledWhereAProfileMayBeAskedFor) {
  const ScopedEnvironment none("HOCKET_PROFILE", nullptr);
  EXPECT_EQ(level_to_profile({}), "");
  EXPECT_EQ(level_to_profile({.profiled = {.first_step = 0}}), "L1");
  EXPECT_EQ(level_to_profile({.profile_level = "L2", .watch = true}), "L2");
  const ScopedEnvironment asked("HOCKET_PROFILE", "at=3");
  EXPECT_EQ(level_to_profile({}), "L1");
}

TEST(RunOptions, TheSpanIsThatOfTheFlagsOrOfTheEnvironment) {
  std::string warned;
  const auto warn = [&](const std::string& message) { warned += message; };
  const ScopedEnvironment none("HOCKET_PROFILE", nullptr);
  EXPECT_FALSE(span_to_profile({}, warn));
  const ScopedEnvironment asked("HOCKET_PROFILE", "at=3,iterations=4");
  EXPECT_EQ(span_to_profile({}, warn)->first_step, 3);
  EXPECT_EQ(span_to_profile({.profiled = {.first_step = 7}}, warn)->first_step, 7);
  EXPECT_EQ(warned, "");
  EXPECT_FALSE(span_to_profile({.record = "run.tape"}, warn));
  EXPECT_THAT(warned, HasSubstr("only observer"));
  const ScopedEnvironment wrong("HOCKET_PROFILE", "from=3");
  EXPECT_FALSE(span_to_profile({}, warn));
  EXPECT_THAT(warned, HasSubstr("HOCKET_PROFILE: \"from=3\""));
}

}  // namespace
}  // namespace hocket
