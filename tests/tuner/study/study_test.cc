#include "tuner/study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/tuner/study/study_fixture.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Study, SearchesFromTheDefaultAndConfirmsInTurn) {
  StudyFixture fixture;
  const auto result = fixture.run();
  ASSERT_TRUE(result) << result.error().message;
  const Params defaults = small_study_space().defaults();
  const std::size_t pairs = (result->trials.size() - 12) / 2;
  ASSERT_EQ(result->trials.size(), 12 + 2 * pairs);
  ASSERT_GE(pairs, 2u);
  ASSERT_LE(pairs, 3u);
  EXPECT_EQ(result->trials, fixture.recorder.finished);
  EXPECT_EQ(fixture.recorder.started, static_cast<int>(result->trials.size()));
  EXPECT_EQ(result->trials[0].params, defaults);
  const std::vector<bool> is_default{true, false, false, true, true, false};
  for (std::size_t i = 0; i < result->trials.size(); ++i) {
    const auto& trial = result->trials[i];
    EXPECT_EQ(trial.number, static_cast<std::int64_t>(i));
    EXPECT_EQ(trial.phase, i < 12 ? TrialPhase::search : TrialPhase::confirm);
    if (i >= 12) {
      EXPECT_EQ(trial.params, is_default[i - 12] ? defaults : result->best.params);
    }
  }
  const auto winner = std::min_element(
      result->trials.begin(), result->trials.begin() + 12, [](const auto& x, const auto& y) {
        return true_study_value(x.params) < true_study_value(y.params);
      });
  EXPECT_LT(true_study_value(result->best.params), 1.05 * true_study_value(winner->params))
      << "what is recommended may be another than the luckiest";
  EXPECT_TRUE(result->promoted);
  EXPECT_GT(result->gain, result->needed);
  EXPECT_THAT(result->reason, HasSubstr("% better than the default in " + std::to_string(pairs) +
                                        " pairs of runs"));
}

TEST(Study, AsksForAnEarlierStudyOnceAfterTheFirstTrialAndStartsFromIt) {
  const Donor donor{.study = "earlier",
                    .evaluations = {{{{"a", std::int64_t{16}}, {"b", std::int64_t{2}}}, 5, 0}}};
  StudyFixture given;
  given.options.session.search.donor = donor;
  const auto expected = given.run();
  ASSERT_TRUE(expected) << expected.error().message;
  EXPECT_EQ(expected->trials[1].params, donor.evaluations[0].params);

  StudyFixture found;
  int asked = 0;
  found.options.find_donor = [&](const Trial& first) -> Result<std::optional<Donor>> {
    ++asked;
    EXPECT_EQ(first, expected->trials.front());
    return donor;
  };
  const auto result = found.run();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(result->trials, expected->trials);

  // A resumed study asks for a donor only while no further trial depends on the answer.
  for (const std::size_t count : {0U, 1U, 2U, 5U}) {
    StudyFixture resumed;
    asked = 0;
    resumed.options.find_donor = found.options.find_donor;
    if (count > 1) resumed.options.session.search.donor = donor;
    const auto again =
        resumed.run({expected->trials.begin(), expected->trials.begin() + std::ptrdiff_t(count)});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(asked, count > 1 ? 0 : 1);
    EXPECT_EQ(again->trials, expected->trials);
  }

  StudyFixture refused;
  refused.options.find_donor = [](const Trial&) -> Result<std::optional<Donor>> {
    return failure(ErrorCode::unavailable, "disk full");
  };
  EXPECT_EQ(refused.run().error().message, "disk full");
  EXPECT_EQ(refused.recorder.finished.size(), 1u);
}

TEST(Study, ContinuesFromAnyInterruptionAsIfThereWereNone) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    StudyFixture whole;
    whole.options.session.search.seed = seed;
    whole.options.confirm_pairs = 6;
    // Some settings fail, so that failures are resumed as well.
    const auto job = [&](const Params& params, std::size_t run) -> Result<TrialOutcome> {
      if (study_number(params, "b") == 7) return failed_outcome("seven");
      return noisy_study_outcome(params, run, 0.03);
    };
    whole.job = job;
    const auto expected = whole.run();
    ASSERT_TRUE(expected);
    for (int limit = 1; limit <= 2 * static_cast<int>(expected->trials.size()); ++limit) {
      SCOPED_TRACE(limit);
      StudyFixture part;
      part.options = whole.options;
      part.job = job;
      part.recorder.limit = limit;
      const auto broken = part.run();
      ASSERT_FALSE(broken);
      EXPECT_EQ(broken.error().message, "disk full");
      EXPECT_EQ(static_cast<int>(part.recorder.finished.size()), limit / 2);

      part.recorder.limit = INT_MAX;
      const auto resumed = part.run(part.recorder.finished);
      ASSERT_TRUE(resumed) << resumed.error().message;
      ASSERT_EQ(resumed->trials, expected->trials);
      EXPECT_EQ(resumed->promoted, expected->promoted);
      EXPECT_EQ(resumed->reason, expected->reason);
      EXPECT_EQ(resumed->best.value, expected->best.value);
    }
  }
}

TEST(Study, AFinishedHistoryRunsNothing) {
  StudyFixture fixture;
  const auto first = fixture.run().value();
  fixture.job = [](const Params&, std::size_t) -> Result<TrialOutcome> {
    ADD_FAILURE() << "ran again";
    return failed_outcome("");
  };
  // More trials are no reason to search again once the winner has been confirmed.
  fixture.options.session.trials = 30;
  const auto again = fixture.run(first.trials);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->reason, first.reason);
  EXPECT_EQ(again->gain, first.gain);
}

TEST(Study, RefusesAHistoryOfAnotherStudy) {
  StudyFixture fixture;
  const auto trials = fixture.run().value().trials;
  const auto problem = [&](auto change) {
    auto changed = trials;
    change(changed);
    const auto result = fixture.run(changed);
    return result ? std::string("accepted") : result.error().message;
  };
  EXPECT_EQ(
      problem([](auto& t) { t.erase(t.begin() + 3); }),
      "trial 3 of the stored study: it was asked for after 4 trials, and only 3 are before it; "
      "it belongs to another study");
  EXPECT_EQ(problem([](auto& t) { t[2].params["a"] = std::int64_t{65}; }),
            "trial 2 of the stored study: parameter a: expected an integer from 1 to 64, found 65; "
            "it belongs to another study");
  EXPECT_THAT(problem([](auto& t) { t[0].params["b"] = std::int64_t{3}; }),
              HasSubstr("not the default"));
  EXPECT_THAT(problem([](auto& t) { t[5].outcome.state = TrialState::running; }),
              HasSubstr("it has not finished"));
  EXPECT_THAT(problem([](auto& t) { t[5].outcome.value = NAN; }), HasSubstr("finite"));
  EXPECT_THAT(problem([](auto& t) { t[14].phase = TrialPhase::search; }),
              HasSubstr("a search after a confirmation"));
  EXPECT_THAT(problem([](auto& t) { std::swap(t[12].params, t[13].params); }),
              HasSubstr("a confirmation that was not due"));
  EXPECT_THAT(problem([](auto& t) {
                t.push_back(t.back());
                t.back().number = static_cast<std::int64_t>(t.size()) - 1;
              }),
              HasSubstr("a confirmation that was not due"));
  EXPECT_EQ(problem([](auto&) {}), "accepted");
}

TEST(Study, RefusesOptionsThatMakeNoStudy) {
  StudyFixture fixture;
  fixture.options.session.trials = 0;
  EXPECT_EQ(fixture.run().error().message, "trials: expected at least 1, found 0");
  fixture.options.session.trials = 1;
  fixture.options.confirm_pairs = -1;
  EXPECT_EQ(fixture.run().error().message, "confirmation pairs: expected at least 0, found -1");
  fixture.options.confirm_pairs = 0;
  fixture.options.session.space = Space::make({{"a", IntegerRange{1, 1}, std::int64_t{1}}}).value();
  EXPECT_THAT(fixture.run().error().message, StartsWith("the search space has a single point"));
  EXPECT_EQ(fixture.recorder.started, 0);
}

TEST(Study, StopsWhenLittleIsLeftToGainAndSaysSo) {
  StudyFixture fixture;
  fixture.options.session.trials = 60;
  fixture.options.session.stop_early = true;
  fixture.job = [](const Params& params, std::size_t) -> Result<TrialOutcome> {
    return complete_trial({true_study_value(params)});
  };
  const auto result = fixture.run().value();
  EXPECT_THAT(result.stopped, HasSubstr("suggestions expected to gain"));
  const auto searched = std::count_if(result.trials.begin(), result.trials.end(),
                                      [](const auto& t) { return t.phase == TrialPhase::search; });
  EXPECT_LT(searched, 60);
  EXPECT_GE(searched, kLeastTrials);

  // A study resumed from any point stops at the same trial.
  for (const std::size_t kept : {std::size_t{3}, static_cast<std::size_t>(searched)}) {
    StudyFixture again;
    again.options = fixture.options;
    again.job = fixture.job;
    const auto resumed =
        again
            .run({result.trials.begin(), result.trials.begin() + static_cast<std::ptrdiff_t>(kept)})
            .value();
    EXPECT_EQ(resumed.trials, result.trials);
    EXPECT_EQ(resumed.stopped, result.stopped);
  }
}

TEST(Study, KeepsWhyItStoppedAndDoesNotGoOn) {
  StudyFixture fixture;
  fixture.options.session.trials = 60;
  fixture.options.session.stop_early = true;
  fixture.job = [](const Params& params, std::size_t) -> Result<TrialOutcome> {
    return complete_trial({true_study_value(params)});
  };
  const auto result = fixture.run().value();
  ASSERT_THAT(fixture.recorder.stopped, ::testing::ElementsAre(result.stopped));

  // As resumed by a program with other rules, which would search on.
  StudyFixture again;
  again.options = fixture.options;
  again.job = fixture.job;
  again.options.session.stop_early = false;
  again.options.stopped = result.stopped;
  const auto searched = std::ranges::count(result.trials, TrialPhase::search, &Trial::phase);
  for (const std::ptrdiff_t kept : {searched, searched + 1}) {
    const auto resumed = again.run({result.trials.begin(), result.trials.begin() + kept}).value();
    EXPECT_EQ(resumed.trials.size(), result.trials.size());
    EXPECT_EQ(resumed.stopped, result.stopped);
    EXPECT_THAT(again.recorder.stopped, ::testing::IsEmpty()) << "it is known";
  }
}

TEST(Study, EndsWhenTheDefaultFailsIfItNeedsOne) {
  for (const TrialState state : {TrialState::failed, TrialState::timeout}) {
    StudyFixture fixture;
    fixture.options.needs_default = true;
    fixture.options.find_donor = [](const Trial&) -> Result<std::optional<Donor>> {
      ADD_FAILURE() << "no study is sought";
      return std::nullopt;
    };
    fixture.job = [&](const Params&, std::size_t) -> Result<TrialOutcome> {
      TrialOutcome outcome = failed_outcome("no match");
      outcome.state = state;
      return outcome;
    };
    const auto result = fixture.run().value();
    EXPECT_EQ(result.trials.size(), 1u);
    EXPECT_FALSE(result.best.value);
    EXPECT_FALSE(result.promoted);
    EXPECT_EQ(result.reason, "the default failed: no match");
    EXPECT_THAT(fixture.recorder.stopped, ::testing::ElementsAre("the default failed"));

    // Resumed with that trial it ends again without another, unless it may go on.
    EXPECT_EQ(fixture.run(result.trials)->trials.size(), 1u);
    fixture.options.find_donor = {};
    fixture.options.needs_default = false;
    EXPECT_EQ(fixture.run(result.trials)->trials.size(), 12u);
  }
}

TEST(Study, TheLastTrialTriesWhatIsRecommended) {
  // All that the simulator knows of: the recommendation is often a setting that nobody tried.
  StudyFixture fixture;
  fixture.options.session.space =
      Space::make({{"partition_bytes", IntegerRange{1 << 16, 1 << 26, true}, std::int64_t{1} << 22},
                   {"credit_bytes", IntegerRange{1 << 16, 1 << 28, true}, std::int64_t{1} << 24}})
          .value();
  fixture.options.session.trials = 4;
  fixture.job = [](const Params& params, std::size_t) -> Result<TrialOutcome> {
    return complete_trial(
        {1e8 * (2 + std::abs(std::log2(study_number(params, "partition_bytes")) - 20))});
  };
  const auto result = fixture.run().value();
  EXPECT_TRUE(std::ranges::any_of(result.trials, [&](const auto& trial) {
    return trial.params == result.best.params && trial.phase == TrialPhase::search;
  }));
}

TEST(Study, EndsWithTheSpace) {
  StudyFixture fixture;
  fixture.options.session.space = Space::make({{"a", IntegerRange{1, 2}, std::int64_t{2}},
                                               {"b", IntegerRange{1, 2}, std::int64_t{2}}})
                                      .value();
  fixture.options.session.trials = 30;
  fixture.options.confirm_pairs = 2;
  const auto result = fixture.run().value();
  EXPECT_EQ(std::count_if(result.trials.begin(), result.trials.end(),
                          [](const auto& t) { return t.phase == TrialPhase::search; }),
            4);
}

TEST(Study, AValueThatIsNoNumberIsAFailure) {
  StudyFixture fixture;
  fixture.options.session.trials = 2;
  fixture.job = [](const Params&, std::size_t) -> Result<TrialOutcome> {
    return complete_trial({NAN});
  };
  const auto result = fixture.run().value();
  EXPECT_EQ(result.trials[0].outcome.state, TrialState::failed);
  EXPECT_EQ(result.trials[0].outcome.message, "expected a finite value, found nan");
}

TEST(Study, InterruptionLosesNothing) {
  StudyFixture fixture;
  fixture.job = [&](const Params& params, std::size_t run) -> Result<TrialOutcome> {
    if (run == 4) fixture.cancel.cancel();
    return noisy_study_outcome(params, run, 0.03);
  };
  const auto result = fixture.run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::interrupted);
  EXPECT_EQ(fixture.recorder.finished.size(), 5u);
  EXPECT_EQ(fixture.recorder.started, 5);
}

TEST(Study, AnErrorOfTheRunnerEndsTheStudy) {
  StudyFixture fixture;
  fixture.job = [](const Params&, std::size_t run) -> Result<TrialOutcome> {
    if (run == 2) return failure(ErrorCode::invalid_argument, "cannot start x");
    return complete_trial({1});
  };
  EXPECT_EQ(fixture.run().error().message, "cannot start x");
  EXPECT_EQ(fixture.recorder.started, 3);
  EXPECT_EQ(fixture.recorder.finished.size(), 2u);
}

/// Returns the settings and the result of a study that minimises times, or maximises their
/// reciprocals.
StudyResult with_direction(SearchMethod method, Direction direction) {
  StudyFixture fixture;
  fixture.options.session.search.method = method;
  fixture.options.session.search.simulate = false;
  fixture.options.session.directions = {direction};
  fixture.job = [&](const Params& params, std::size_t run) -> Result<TrialOutcome> {
    auto outcome = noisy_study_outcome(params, run, 0.03);
    if (direction == Direction::minimise) return outcome;
    std::vector<double> rates;
    for (const double time : outcome.samples) rates.push_back(1 / time);
    return complete_trial(std::move(rates));
  };
  return fixture.run().value();
}

TEST(Study, WhatIsMaximisedIsSearchedLikeTheReciprocalThatIsMinimised) {
  for (const auto method : {SearchMethod::tpe, SearchMethod::random, SearchMethod::model}) {
    SCOPED_TRACE(to_string(method));
    const auto least = with_direction(method, Direction::minimise);
    const auto most = with_direction(method, Direction::maximise);
    EXPECT_TRUE(most.promoted);
    EXPECT_GT(most.best.value, most.default_params.value);
    if (method == SearchMethod::model) {
      // Its models differ in the last digits.
      EXPECT_NEAR(true_study_value(most.best.params), true_study_value(least.best.params), 10);
      continue;
    }
    EXPECT_EQ(most.best.params, least.best.params);
    EXPECT_NEAR((1 + most.gain) * (1 - least.gain), 1, 1e-3);
    ASSERT_EQ(most.trials.size(), least.trials.size());
    for (std::size_t i = 0; i < most.trials.size(); ++i)
      EXPECT_EQ(most.trials[i].params, least.trials[i].params) << i;
  }
}

}  // namespace
}  // namespace hocket
