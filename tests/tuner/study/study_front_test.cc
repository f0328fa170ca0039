// Studies with several objectives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tuner/study/study.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

double number_in(const Params& params, const char* name) {
  return static_cast<double>(std::get<std::int64_t>(params.at(name)));
}

class NoObserver final : public StudyObserver {
 public:
  Result<void> trial_started(std::int64_t, TrialPhase, const Params&) override { return {}; }
  Result<void> trial_finished(const Trial&) override { return {}; }
  Result<void> search_stopped(const std::string&) override { return {}; }
};

/// Runs trials of several objectives and counts those that may end early.
class Runner final : public TrialRunner {
 public:
  explicit Runner(std::uint64_t seed, std::size_t objectives)
      : seed_(seed), objectives_(objectives) {}

  Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent,
                           std::int64_t) override {
    ++runs;
    told_of_incumbent += incumbent.empty() ? 0 : 1;
    const double a = number_in(params, "a"), b = number_in(params, "b");
    if (b == 7) {
      TrialOutcome failed;
      failed.message = "seven";
      return failed;
    }
    // Coarse values, so that there are ties; the objectives trade off along a.
    auto outcome = complete_trial({std::floor(100 / a) + std::fmod(b + double(seed_), 3)});
    for (std::size_t k = 1; k < objectives_; ++k)
      outcome.others.push_back(a + std::fmod(b * double(k), 4));
    if (spoil && runs == 3) outcome.others.back() = NAN;
    return outcome;
  }

  int runs = 0, told_of_incumbent = 0;
  bool spoil = false;

 private:
  const std::uint64_t seed_;
  const std::size_t objectives_;
};

StudyOptions options_of(std::uint64_t seed, std::size_t objectives) {
  return {.session = {.space = Space::make({{"a", IntegerRange{1, 40}, std::int64_t{20}},
                                            {"b", IntegerRange{1, 9}, std::int64_t{9}}})
                                   .value(),
                      .search = {.seed = seed, .objectives = objectives},
                      .trials = 18,
                      .stop_early = true},
          .confirm_pairs = 0,
          .end_trials_early = true};
}

Result<StudyResult> run(const StudyOptions& options, std::vector<Trial> history, Runner& runner) {
  NoObserver observer;
  return run_study(options, std::move(history), runner, observer, {});
}

std::vector<double> values_of(const Trial& trial) {
  std::vector<double> values{trial.outcome.value.value()};
  values.insert(values.end(), trial.outcome.others.begin(), trial.outcome.others.end());
  return values;
}

std::vector<double> values_of(const FrontPoint& point) {
  std::vector<double> values{point.measured.value.value()};
  values.insert(values.end(), point.measured.others.begin(), point.measured.others.end());
  return values;
}

/// Returns whether `a` is at most as high as `b` in all objectives.
bool at_most(const auto& a, const auto& b) {
  const auto x = values_of(a), y = values_of(b);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x[k] > y[k]) return false;
  return true;
}

TEST(StudyFront, HoldsWhatNoTrialBeatsAndNothingIsConfirmedOrStopped) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const std::size_t objectives = 2 + seed % 2;
    Runner runner(seed, objectives);
    const auto result = run(options_of(seed, objectives), {}, runner);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->trials.size(), 18U);
    EXPECT_EQ(result->stopped, "");
    EXPECT_FALSE(result->promoted);
    EXPECT_THAT(result->reason, HasSubstr("which trade-off"));
    EXPECT_EQ(runner.told_of_incumbent, 0);
    for (const auto& trial : result->trials) EXPECT_EQ(trial.phase, TrialPhase::search);

    const auto& front = result->front;
    ASSERT_FALSE(front.empty());
    EXPECT_EQ(result->best, front.front().measured);
    for (std::size_t i = 0; i < front.size(); ++i) {
      const auto& trial = result->trials.at(static_cast<std::size_t>(front[i].number));
      EXPECT_EQ(values_of(trial), values_of(front[i]));
      if (i > 0) {
        EXPECT_LE(front[i - 1].measured.value, front[i].measured.value);
      }
      for (std::size_t j = 0; j < front.size(); ++j) EXPECT_EQ(at_most(front[j], front[i]), i == j);
    }
    for (const auto& trial : result->trials) {
      if (trial.outcome.state != TrialState::complete) continue;
      EXPECT_TRUE(std::ranges::any_of(front, [&](const auto& f) { return at_most(f, trial); }));
    }
    EXPECT_EQ(result->default_params.others, result->trials.front().outcome.others);
  }
}

TEST(StudyFront, ContinuesFromAnyInterruptionAsIfThereWereNone) {
  Runner runner(1, 2);
  auto options = options_of(1, 2);
  options.confirm_pairs = 3;
  const auto expected = run(options, {}, runner).value();
  for (std::size_t count = 0; count <= expected.trials.size(); ++count) {
    SCOPED_TRACE(count);
    Runner rest(1, 2);
    const auto resumed = run(
        options, {expected.trials.begin(), expected.trials.begin() + std::ptrdiff_t(count)}, rest);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->trials, expected.trials);
    EXPECT_EQ(resumed->front, expected.front);
    EXPECT_EQ(rest.runs, static_cast<int>(expected.trials.size() - count));
  }
  EXPECT_EQ(expected.trials.back().phase, TrialPhase::confirm);
}

TEST(StudyFront, MeasuresThePointsAgainBesideTheDefault) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    Runner runner(seed, 2);
    auto options = options_of(seed, 2);
    options.confirm_pairs = 4;
    const auto result = run(options, {}, runner).value();
    EXPECT_FALSE(result.promoted);
    const auto confirmations =
        std::ranges::count(result.trials, TrialPhase::confirm, &Trial::phase);
    EXPECT_GT(confirmations, 0);
    EXPECT_LE(confirmations, 4 * (1 + kMostFrontPoints));
    EXPECT_EQ(runner.told_of_incumbent, 0);
    const auto again = std::ranges::count_if(
        result.front, [](const FrontPoint& point) { return point.state != FrontState::searched; });
    EXPECT_GT(again, 0);
    EXPECT_LE(again, kMostFrontPoints);
  }
}

TEST(StudyFront, FindsMoreOfTheTradeOffThanTheFirstObjectiveAlone) {
  const auto lowest_second = [](const StudyResult& result) {
    double lowest = INFINITY;
    for (const auto& trial : result.trials)
      if (!trial.outcome.others.empty()) lowest = std::min(lowest, trial.outcome.others[0]);
    return lowest;
  };
  double found = 0, found_alone = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Runner runner(seed, 2);
    found += lowest_second(run(options_of(seed, 2), {}, runner).value());
    auto first_alone = options_of(seed, 1);
    first_alone.session.stop_early = false;
    const auto result = run(first_alone, {}, runner).value();
    found_alone += lowest_second(result);
    EXPECT_TRUE(result.front.empty());
  }
  EXPECT_LT(found, 0.7 * found_alone);
}

TEST(StudyFront, AFurtherObjectiveThatIsNoNumberFailsTheTrial) {
  Runner runner(1, 2);
  runner.spoil = true;
  const auto result = run(options_of(1, 2), {}, runner);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->trials[2].outcome.state, TrialState::failed);
  EXPECT_THAT(result->trials[2].outcome.message, HasSubstr("expected a finite value, found "));
}

TEST(StudyFront, RefusesAnotherNumberOfObjectivesAndConfirmations) {
  Runner two(1, 2);
  auto history = run(options_of(1, 2), {}, two).value().trials;
  Runner three(1, 3);
  EXPECT_THAT(run(options_of(1, 3), history, three).error().message,
              HasSubstr("expected values of 3 objectives, found 2"));
  history.push_back(history.front());
  history.back().number = static_cast<std::int64_t>(history.size()) - 1;
  history.back().phase = TrialPhase::confirm;
  EXPECT_THAT(run(options_of(1, 2), history, two).error().message,
              HasSubstr("a confirmation that was not due"));
  auto options = options_of(1, 2);
  options.session.search.method = SearchMethod::tpe;
  EXPECT_THAT(run(options, {}, two).error().message, HasSubstr("the method model, not by tpe"));
}

}  // namespace
}  // namespace hocket
