#include "cli/study/study_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/set_clock.h"
#include "tests/tuner/study/function_runner.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

TrialOutcome timed_out_outcome() {
  TrialOutcome outcome;
  outcome.state = TrialState::timeout;
  outcome.message = "not done within 7 s";
  return outcome;
}

class StudyTimeTest : public ::testing::Test {
 protected:
  std::string run(std::int64_t number, TrialPhase phase, std::int64_t seconds,
                  TrialOutcome outcome = complete_trial({1})) {
    time_.began(number);
    clock_.now += seconds * kSecond;
    return time_.ended({.number = number, .phase = phase, .outcome = std::move(outcome)});
  }

  SetClock clock_{0};
  StudyTime time_{TimeBudget(100 * kSecond, 0, {4, 10}), clock_};
};

TEST_F(StudyTimeTest, TheFirstTrialTellsWhatFits) {
  EXPECT_FALSE(time_.has_run());
  EXPECT_THAT(run(0, TrialPhase::search, 2), HasSubstr("a run takes about 2 s"));
  EXPECT_TRUE(time_.has_run());
  EXPECT_EQ(run(1, TrialPhase::search, 2), "");
  EXPECT_EQ(time_.left_ns(), 96 * kSecond - 45 * kSecond / 2) << "10 runs of 2.25 s are set aside";
  EXPECT_EQ(time_.why_none_fits(TrialPhase::search), "");
}

TEST_F(StudyTimeTest, ARunThatWasEndedSaysNothingAboutTheOthers) {
  run(0, TrialPhase::search, 2);
  run(1, TrialPhase::search, 76, timed_out_outcome());
  EXPECT_THAT(time_.why_none_fits(TrialPhase::search), HasSubstr("after 2 trials"));
  EXPECT_EQ(time_.why_none_fits(TrialPhase::confirm), "");
  time_.recall(50 * kSecond, TrialPhase::search, TrialState::timeout);
  EXPECT_EQ(time_.why_none_fits(TrialPhase::confirm), "");
  time_.recall(50 * kSecond, TrialPhase::search, TrialState::complete);
  EXPECT_NE(time_.why_none_fits(TrialPhase::confirm), "");
}

TEST_F(StudyTimeTest, AConfirmationMayUseTheWholeTime) {
  run(0, TrialPhase::search, 2);
  EXPECT_EQ(time_.why_none_fits(TrialPhase::confirm), "");
  EXPECT_TRUE(time_.is_confirming()) << "before the run has begun";
  EXPECT_EQ(time_.left_ns(), 98 * kSecond);
  EXPECT_TRUE(time_.check());
  clock_.now = 100 * kSecond;
  ASSERT_FALSE(time_.check());
  EXPECT_EQ(time_.check().error().code, ErrorCode::timed_out);
}

TEST_F(StudyTimeTest, ATrialThatIsEndedInTheSearchIsOutOfTimeAndAnErrorElsewhere) {
  const auto outcome_after = [&](std::int64_t seconds) {
    auto inner = std::make_unique<FunctionRunner>([this, seconds](const Params&) {
      clock_.now += seconds * kSecond;
      return Result<TrialOutcome>(timed_out_outcome());
    });
    return TimedRunner(std::move(inner), time_).run({}, {}, 1);
  };
  const auto first = outcome_after(100);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::timed_out);
  EXPECT_THAT(first.error().message, HasSubstr("the first trial, of the default, was not done "
                                               "within the 1 min 40 s of --max-time"));
  EXPECT_EQ(time_.check().error().message, first.error().message) << "workers say the same";
  clock_.now = 0;
  run(0, TrialPhase::search, 2);
  const auto of_limit = outcome_after(7);
  ASSERT_TRUE(of_limit);
  EXPECT_EQ(of_limit->message, "not done within 7 s") << "its own limit, not the study's";
  const auto cut = outcome_after(80);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->state, TrialState::timeout);
  EXPECT_THAT(cut->message, HasSubstr("not done within what the 1 min 40 s of --max-time left"));
  EXPECT_EQ(time_.why_none_fits(TrialPhase::confirm), "");
  const auto confirmation = outcome_after(80);
  ASSERT_FALSE(confirmation);
  EXPECT_EQ(confirmation.error().code, ErrorCode::timed_out);
}

TEST_F(StudyTimeTest, WithoutALimitThereIsNothingToKeep) {
  EXPECT_FALSE(time_left(nullptr));
  EXPECT_EQ(time_left(&time_)(), 100 * kSecond);
  EXPECT_TRUE(timed_runners([](const StudyRow&, const StudyDefinition&)
                                -> Result<std::unique_ptr<TrialRunner>> { return nullptr; },
                            nullptr));
}

}  // namespace
}  // namespace hocket
