#include "tuner/study/time_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/study/study_fixture.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000, kMinute = 60 * kSecond;

/// Five pairs at most, two at least.
constexpr ConfirmationRuns kPairs{4, 10};

TimeBudget after(std::int64_t total_ns, std::int64_t run_ns, ConfirmationRuns runs = kPairs) {
  TimeBudget budget(total_ns, 100, runs);
  budget.took(run_ns);
  return budget;
}

TEST(TimeBudget, SetsAsideAllConfirmationRunsOfAShortTrial) {
  const TimeBudget budget = after(3 * kMinute, 2 * kSecond);
  EXPECT_EQ(budget.expected_ns(), 2'250'000'000);
  EXPECT_EQ(budget.runs_set_aside(), 10);
  EXPECT_EQ(budget.deadline_ns(TrialPhase::search), 100 + 3 * kMinute - 45 * kSecond / 2);
  EXPECT_EQ(budget.deadline_ns(TrialPhase::confirm), 100 + 3 * kMinute);
}

TEST(TimeBudget, SetsAsideAtMostAThirdButNeverLessThanWhatCanDecide) {
  EXPECT_EQ(after(3 * kMinute, 10 * kSecond).runs_set_aside(), 5) << "60 s of 11 s";
  EXPECT_EQ(after(3 * kMinute, 25 * kSecond).runs_set_aside(), 4) << "more than a third";
}

TEST(TimeBudget, WhereNoConfirmationFitsAllTimeIsForTheSearchAndThatIsSaid) {
  const TimeBudget budget = after(3 * kMinute, 40 * kSecond);
  EXPECT_EQ(budget.runs_set_aside(), 0);
  EXPECT_EQ(budget.deadline_ns(TrialPhase::search), budget.end_ns());
  const std::string text = budget.outlook(100 + 40 * kSecond);
  EXPECT_THAT(text, HasSubstr("a run takes about 40 s"));
  EXPECT_THAT(text, HasSubstr("3 more trials and no confirmation, so nothing will be promoted"));
  EXPECT_THAT(text, HasSubstr("about 4 min 24 s"));
}

TEST(TimeBudget, TheOutlookCountsTrialsAndConfirmationRuns) {
  EXPECT_EQ(after(3 * kMinute, 2 * kSecond).outlook(100 + 2 * kSecond),
            "a run takes about 2 s: the 3 min of --max-time have room for about 69 more trials, "
            "and 10 confirmation runs set aside");
  EXPECT_EQ(after(kMinute, 2 * kSecond, {}).outlook(100 + 2 * kSecond),
            "a run takes about 2 s: the 1 min of --max-time have room for about 25 more trials")
      << "--confirm 0";
}

TEST(TimeBudget, ARunBeginsOnlyWhereItWouldEndInTime) {
  const TimeBudget budget = after(3 * kMinute, 2 * kSecond);
  const std::int64_t last_ns = budget.deadline_ns(TrialPhase::search) - budget.expected_ns();
  EXPECT_EQ(budget.why_none_fits(TrialPhase::search, last_ns, 9), "");
  EXPECT_EQ(budget.why_none_fits(TrialPhase::search, last_ns + 1, 9),
            "the 3 min of --max-time have no room for another trial after 9 trials, with 10 "
            "confirmation runs set aside");
  EXPECT_EQ(budget.why_none_fits(TrialPhase::confirm, last_ns + 1, 9), "");
  EXPECT_THAT(budget.why_none_fits(TrialPhase::confirm, budget.end_ns() - 1, 9),
              HasSubstr("no room for another confirmation run, which takes about 2.2 s"));
}

TEST(TimeBudget, TheLongestRunCounts) {
  TimeBudget budget = after(3 * kMinute, 20 * kSecond);
  budget.took(kSecond);
  EXPECT_EQ(budget.expected_ns(), 22 * kSecond + kSecond / 20);
}

TEST(TimeBudget, TheFirstRunHasTheWholeTime) {
  const TimeBudget budget(kMinute, 100, kPairs);
  EXPECT_EQ(budget.deadline_ns(TrialPhase::search), 100 + kMinute);
  EXPECT_EQ(budget.why_none_fits(TrialPhase::search, 100, 0), "");
  EXPECT_NE(budget.why_none_fits(TrialPhase::search, 100 + kMinute, 0), "");
}

TEST(TimeBudget, KnowsHowManyRunsConfirm) {
  StudyDefinition definition{.space = small_study_space(), .objective = {}};
  EXPECT_EQ(confirmation_runs(definition), (ConfirmationRuns{4, 10}));
  definition.compares_measured = true;
  EXPECT_EQ(confirmation_runs(definition), (ConfirmationRuns{6, 15}));
  definition.compares_measured = false;
  definition.confirm_pairs = 1;
  EXPECT_EQ(confirmation_runs(definition), (ConfirmationRuns{2, 2}));
  definition.confirm_pairs = 0;
  EXPECT_EQ(confirmation_runs(definition), (ConfirmationRuns{0, 0}));
  definition.confirm_pairs = 3;
  definition.other_objectives = {Objective{ObjectiveKind::memory, ""}};
  EXPECT_EQ(confirmation_runs(definition), (ConfirmationRuns{10, 15}));
}

TEST(TimeBudget, SaysTimesAsPeopleDo) {
  EXPECT_EQ(time_span_text(400'000'000), "0.4 s");
  EXPECT_EQ(time_span_text(2'500'000'000), "2.5 s");
  EXPECT_EQ(time_span_text(90 * kSecond), "1 min 30 s");
  EXPECT_EQ(time_span_text(180 * kSecond), "3 min");
  EXPECT_EQ(time_span_text(5400 * kSecond), "1 h 30 min");
}

// The study that is told what fits.

TEST(StudyInTime, TheSearchEndsEarlyAndTheWinnerIsConfirmed) {
  StudyFixture fixture;
  fixture.options.why_no_time = [&](TrialPhase phase) -> std::string {
    return phase == TrialPhase::search && fixture.recorder.finished.size() >= 4 ? "no room" : "";
  };
  const auto result = fixture.run();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(std::ranges::count(result->trials, TrialPhase::search, &Trial::phase), 4);
  EXPECT_GE(std::ranges::count(result->trials, TrialPhase::confirm, &Trial::phase), 4);
  EXPECT_EQ(result->stopped, "no room");
  EXPECT_FALSE(result->is_interim);
  EXPECT_TRUE(fixture.recorder.stopped.empty())
      << "a resumed study searches on: it is no reason of the search";
}

TEST(StudyInTime, WithoutTimeForTheConfirmationTheStudyStaysUndecided) {
  StudyFixture fixture;
  std::size_t most = 5;
  fixture.options.why_no_time = [&](TrialPhase) -> std::string {
    return fixture.recorder.finished.size() >= most ? "no room" : "";
  };
  const auto result = fixture.run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::timed_out);
  EXPECT_EQ(result.error().message, "no room");
  EXPECT_EQ(fixture.recorder.finished.size(), 5u);
  // Resumed with as many trials as were run, it goes straight to the confirmation.
  fixture.options.session.trials = 5;
  most = 100;
  const auto confirmed = fixture.run(fixture.recorder.finished);
  ASSERT_TRUE(confirmed) << confirmed.error().message;
  EXPECT_EQ(std::ranges::count(confirmed->trials, TrialPhase::search, &Trial::phase), 5);
  EXPECT_TRUE(confirmed->promoted) << confirmed->reason;
}

TEST(StudyInTime, TheFirstTrialIsBegunInAnyCase) {
  StudyFixture fixture;
  fixture.options.why_no_time = [](TrialPhase) -> std::string { return "no room"; };
  const auto result = fixture.run();
  EXPECT_EQ(fixture.recorder.finished.size(), 1u);
  ASSERT_FALSE(result) << "one setting alone decides nothing";
  EXPECT_EQ(result.error().code, ErrorCode::timed_out);
}

TEST(InterimResult, IsTheWinnerSoFarAndDecidesNothing) {
  StudyFixture fixture;
  const auto whole = fixture.run();
  ASSERT_TRUE(whole) << whole.error().message;
  const std::vector<Trial> history(whole->trials.begin(), whole->trials.begin() + 12);
  const auto interim = interim_result(fixture.options, history);
  ASSERT_TRUE(interim) << interim.error().message;
  EXPECT_TRUE(interim->is_interim);
  EXPECT_FALSE(interim->promoted);
  EXPECT_EQ(interim->best.params, whole->best.params);
  EXPECT_THAT(interim->reason, HasSubstr("not confirmed"));
  EXPECT_EQ(interim->trials.size(), 12u);
  const auto first = interim_result(fixture.options, {history.front()});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->best.params, small_study_space().defaults());
  EXPECT_THAT(first->reason, HasSubstr("nothing better than the default"));
  EXPECT_FALSE(interim_result(fixture.options, {}));
}

TEST(InterimResult, OfAStudyThatHasBegunToConfirmHasAllRuns) {
  StudyFixture fixture;
  const auto whole = fixture.run();
  ASSERT_TRUE(whole) << whole.error().message;
  const std::vector<Trial> history(whole->trials.begin(), whole->trials.begin() + 14);
  const auto interim = interim_result(fixture.options, history);
  ASSERT_TRUE(interim) << interim.error().message;
  EXPECT_EQ(interim->best.params, whole->best.params);
  EXPECT_EQ(interim->best.value, history[13].outcome.value);
}

TEST(InterimResult, WithoutACompletedTrialHasNoValue) {
  StudyFixture fixture;
  fixture.job = [](const Params&, std::size_t) { return failed_outcome("it crashed"); };
  fixture.options.session.trials = 2;
  const auto whole = fixture.run();
  ASSERT_TRUE(whole);
  const auto interim = interim_result(fixture.options, whole->trials);
  ASSERT_TRUE(interim) << interim.error().message;
  EXPECT_FALSE(interim->best.value);
  EXPECT_THAT(interim->reason, HasSubstr("no trial has completed"));
}

}  // namespace
}  // namespace hocket
