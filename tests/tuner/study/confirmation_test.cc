#include "tuner/study/confirmation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "core/base/statistics.h"
#include "tests/rounds.h"
#include "tests/tuner/study/study_fixture.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// A study whose runs take what `value` says of the winner's excess in each pair.
StudyResult confirmed(const std::vector<double>& excess) {
  StudyFixture fixture;
  fixture.options.confirm_pairs = static_cast<int>(excess.size());
  fixture.job = [&](const Params& params, std::size_t run) -> Result<TrialOutcome> {
    if (params == small_study_space().defaults()) return complete_trial({100});
    if (run < 12) return complete_trial({true_study_value(params) - 60});
    return complete_trial({100 + excess.at((run - 12) / 2)});
  };
  return fixture.run().value();
}

TEST(Confirmation, ConfirmsNoLongerThanItTakes) {
  const StudyResult clear = confirmed({-20, -21, -20, -20, -20});
  EXPECT_TRUE(clear.promoted);
  EXPECT_EQ(clear.trials.size(), 12u + 2 * 2);

  const StudyResult worse = confirmed({5, 5.1, 5, 5, 5});
  EXPECT_FALSE(worse.promoted);
  EXPECT_EQ(worse.trials.size(), 12u + 2 * 2);
  EXPECT_THAT(worse.reason, HasSubstr("worse than the default in 2 pairs"));

  // Not before the pairs agree.
  const StudyResult late = confirmed({-2, -30, -16, -15, -16, -16, -16});
  EXPECT_TRUE(late.promoted);
  EXPECT_GT(late.trials.size(), 12u + 2 * 2);
  EXPECT_LT(late.trials.size(), 12u + 2 * 7);

  const StudyResult never = confirmed({-20, 15, -15, 20});
  EXPECT_FALSE(never.promoted);
  EXPECT_EQ(never.trials.size(), 12u + 2 * 4);
  EXPECT_THAT(never.reason, HasSubstr("was needed"));
}

TEST(Confirmation, SaysWhetherTheDefaultIsAssumedAndWhereTheGainLies) {
  StudyFixture fixture;
  for (const bool is_assumed : {false, true}) {
    fixture.options.default_is_assumed = is_assumed;
    const auto result = fixture.run().value();
    EXPECT_THAT(result.reason, HasSubstr(is_assumed ? "better than the assumed default in "
                                                    : "better than the default in "));
    ASSERT_TRUE(result.interval);
    EXPECT_LT(result.interval->low, result.gain);
    EXPECT_GT(result.interval->high, result.gain);
  }
  fixture.options.confirm_pairs = 0;
  EXPECT_FALSE(fixture.run()->interval);
}

TEST(Confirmation, ValuesOfTheResultAreThoseOfTheConfirmation) {
  StudyFixture fixture;
  const auto result = fixture.run().value();
  std::vector<double> values;
  for (const auto& trial : result.trials) {
    if (trial.phase == TrialPhase::confirm && trial.params == result.best.params) {
      values.push_back(trial.outcome.value.value());
    }
  }
  ASSERT_GE(values.size(), 2u);
  EXPECT_EQ(result.best.value, median(values));
  EXPECT_EQ(result.best.spread, spread(values));
}

TEST(Confirmation, TheDefaultMayBeBest) {
  StudyFixture fixture;
  fixture.job = [](const Params& params, std::size_t) -> Result<TrialOutcome> {
    return complete_trial({params == small_study_space().defaults() ? 1.0 : 2.0});
  };
  const auto result = fixture.run().value();
  EXPECT_FALSE(result.promoted);
  EXPECT_EQ(result.reason, "the default is best");
  EXPECT_EQ(result.best.params, small_study_space().defaults());
  EXPECT_EQ(result.trials.size(), 12u);

  fixture.options.session.trials = 1;
  EXPECT_EQ(fixture.run()->trials.size(), 1u);
}

TEST(Confirmation, EqualValuesKeepTheDefault) {
  StudyFixture fixture;
  fixture.job = [](const Params&, std::size_t) -> Result<TrialOutcome> {
    return complete_trial({5});
  };
  const auto result = fixture.run().value();
  EXPECT_EQ(result.reason, "the default is best");
}

TEST(Confirmation, AllTrialsMayFail) {
  StudyFixture fixture;
  fixture.job = [](const Params&, std::size_t run) -> Result<TrialOutcome> {
    auto outcome = failed_outcome("out of memory");
    if (run % 2 == 1) outcome.state = TrialState::timeout;
    return outcome;
  };
  const auto result = fixture.run().value();
  EXPECT_FALSE(result.promoted);
  EXPECT_FALSE(result.best.value);
  EXPECT_EQ(result.trials.size(), 12u);
  EXPECT_EQ(result.reason, "none of 12 trials completed; the first one: out of memory");
}

TEST(Confirmation, AFailedDefaultIsReplacedByAWinnerThatWorks) {
  StudyFixture fixture;
  fixture.job = [](const Params& params, std::size_t) -> Result<TrialOutcome> {
    if (params == small_study_space().defaults()) return failed_outcome("out of memory");
    return complete_trial({true_study_value(params)});
  };
  const auto result = fixture.run().value();
  EXPECT_TRUE(result.promoted);
  EXPECT_EQ(result.reason, "the default failed (out of memory); the winner works in 2 more runs");
  EXPECT_FALSE(result.default_params.value);
  ASSERT_EQ(result.trials.size(), 14u);
  for (std::size_t i = 12; i < 14; ++i) EXPECT_EQ(result.trials[i].params, result.best.params);
}

TEST(Confirmation, AWinnerThatFailsLaterIsNotPromoted) {
  StudyFixture fixture;
  fixture.job = [](const Params& params, std::size_t run) -> Result<TrialOutcome> {
    if (run >= 13 && params != small_study_space().defaults()) {
      auto outcome = failed_outcome("too slow");
      outcome.state = TrialState::timeout;
      return outcome;
    }
    return complete_trial({true_study_value(params)});
  };
  const auto result = fixture.run().value();
  EXPECT_FALSE(result.promoted);
  EXPECT_EQ(result.reason, "a confirmation run of the winner did not complete: too slow");
  ASSERT_EQ(result.trials.size(), 14u);

  auto more = result.trials;
  more.push_back(more.back());
  more.back().number = 14;
  EXPECT_THAT(fixture.run(more).error().message, HasSubstr("a confirmation that was not due"));
}

TEST(Confirmation, NothingIsPromotedWithoutConfirmation) {
  for (const int pairs : {0, 1}) {
    StudyFixture fixture;
    fixture.options.confirm_pairs = pairs;
    const auto result = fixture.run().value();
    EXPECT_FALSE(result.promoted);
    EXPECT_EQ(result.reason,
              "the winner is not confirmed: that takes at least 2 pairs of runs, not " +
                  std::to_string(pairs));
    EXPECT_TRUE(result.best.value);
  }
}

/// The confirmation of settings a=2 and, as its rival, a=4, against the default a=1. `run` says how
/// a run of a setting ends, `worker` who runs it.
struct Rivals {
  StudyOptions options{.session = {.space = small_study_space()}, .confirm_pairs = 4};
  std::function<TrialOutcome(std::int64_t a, std::size_t number)> run;
  std::function<std::string(std::size_t number)> worker = [](std::size_t) { return "w"; };
  std::vector<std::int64_t> order = {};

  static Params setting(std::int64_t a) { return {{"a", a}, {"b", std::int64_t{9}}}; }

  StudyResult confirmed() {
    std::vector<Trial> trials;
    for (const std::int64_t a : {1, 2, 4})
      trials.push_back({.number = std::ssize(trials), .params = setting(a), .outcome = run(a, 0)});
    order.clear();
    for (;;) {
      const Confirmation confirmation(trials, trials[1], &trials[2], options);
      const auto next = confirmation.next();
      if (!next || order.size() > 30) break;
      order.push_back(std::get<std::int64_t>(next->at("a")));
      trials.push_back({.number = std::ssize(trials),
                        .phase = TrialPhase::confirm,
                        .params = *next,
                        .outcome = run(order.back(), order.size()),
                        .worker = worker(order.size())});
    }
    const Confirmation confirmation(trials, trials[1], &trials[2], options);
    StudyResult result;
    result.best = confirmation.measured(confirmation.best());
    confirmation.decide(result);
    return result;
  }
};

double share_promoted(int studies, double gain, bool compares_measured) {
  int promoted = 0;
  for (int study = 0; study < studies; ++study) {
    std::mt19937_64 random(static_cast<std::uint64_t>(study));
    std::normal_distribution<double> normal(0, 0.045);
    StudyFixture fixture;
    fixture.options.session.search.seed = static_cast<std::uint64_t>(study);
    fixture.options.session.trials = 8;
    fixture.options.compares_measured = compares_measured;
    fixture.job = [&](const Params& params, std::size_t) -> Result<TrialOutcome> {
      const bool is_default = params == small_study_space().defaults();
      return complete_trial({(is_default ? 1 : 1 - gain) * std::exp(normal(random))});
    };
    promoted += fixture.run()->promoted ? 1 : 0;
  }
  return static_cast<double>(promoted) / studies;
}

TEST(Confirmation, NoiseAloneIsHardlyEverPromoted) {
  EXPECT_LE(share_promoted(rounds(800), 0, false), 0.07);
}

TEST(Confirmation, NoiseAloneIsHardlyEverPromotedBesideARival) {
  EXPECT_LE(share_promoted(rounds(800), 0, true), 0.07);
  Rivals rivals;
  int promoted = 0;
  for (int study = 0; study < 2000; ++study) {
    std::mt19937_64 random(static_cast<std::uint64_t>(study));
    std::normal_distribution<double> normal(0, 0.045);
    rivals.run = [&](std::int64_t, std::size_t) {
      return complete_trial({100 * std::exp(normal(random))});
    };
    promoted += rivals.confirmed().promoted ? 1 : 0;
  }
  EXPECT_LE(promoted, 0.07 * 2000);
}

TEST(Confirmation, AClearGainIsPromotedNearlyAlways) {
  EXPECT_GE(share_promoted(200, 0.35, false), 0.97);
  EXPECT_GE(share_promoted(200, 0.35, true), 0.97);
}

/// Runs a function that is told the incumbent's samples.
class WatchedRunner final : public TrialRunner {
 public:
  using Function = std::function<Result<TrialOutcome>(const Params&, const std::vector<double>&)>;
  explicit WatchedRunner(Function function) : function_(std::move(function)) {}
  Result<TrialOutcome> run(const Params& params, std::span<const double> incumbent,
                           std::int64_t) override {
    return function_(params, {incumbent.begin(), incumbent.end()});
  }

 private:
  Function function_;
};

TEST(Confirmation, TrialsOfTheSearchMayEndByTheBestOfItAndConfirmationsNever) {
  for (const bool end_trials_early : {true, false}) {
    SCOPED_TRACE(end_trials_early);
    StudyFixture fixture;
    fixture.options.end_trials_early = end_trials_early;
    std::vector<std::vector<double>> incumbents;
    WatchedRunner runner([&](const Params& params, const std::vector<double>& incumbent) {
      incumbents.push_back(incumbent);
      if (study_number(params, "b") == 7) return Result<TrialOutcome>(failed_outcome("seven"));
      return Result<TrialOutcome>(noisy_study_outcome(params, incumbents.size(), 0.03));
    });
    const auto result =
        run_study(fixture.options, {}, runner, fixture.recorder, fixture.cancel).value();
    ASSERT_EQ(incumbents.size(), result.trials.size());
    ASSERT_EQ(result.trials.back().phase, TrialPhase::confirm);
    const TrialOutcome* best = nullptr;
    for (std::size_t i = 0; i < incumbents.size(); ++i) {
      const TrialOutcome& outcome = result.trials[i].outcome;
      const bool is_searched = result.trials[i].phase == TrialPhase::search;
      const bool is_watched = end_trials_early && is_searched && best;
      EXPECT_EQ(incumbents[i], is_watched ? best->samples : std::vector<double>()) << i;
      if (outcome.state != TrialState::complete) continue;
      if (!best || outcome.value < best->value) best = &outcome;
    }
  }
}

/// The knobs of a job that is nothing like a step: small parts cost a hundred times what they gain.
double odd_job_ms(const Params& params) {
  const auto knob = [&](const char* name) {
    return static_cast<double>(std::get<std::int64_t>(params.at(name)));
  };
  const double part = knob("partition_bytes"), channels = knob("comm_channels");
  return 200 + 2000 * 524288 / part + part / 4e5 + (knob("credit_bytes") < 2 * part ? 60 : 0) +
         (channels > 2 ? 3 * channels : 0);
}

TEST(Confirmation, PromotesWhatWasMeasuredBestWhereTheSimulatorIsFarOff) {
  for (std::uint64_t seed = 0; seed < rounds(3); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0.995, 1.005);
    StudyFixture fixture;
    fixture.options.session.space = Space::make(schedule_parameters().value()).value();
    fixture.options.session.search.seed = seed;
    fixture.options.session.trials = 10;
    double lowest = INFINITY;
    fixture.job = [&](const Params& params, std::size_t) {
      const double value = odd_job_ms(params) * uniform(random);
      lowest = std::min(lowest, value);
      return complete_trial({value});
    };
    const auto result = fixture.run();
    ASSERT_TRUE(result);
    EXPECT_LT(odd_job_ms(result->best.params), 1.15 * lowest);
  }
}

/// Samples around a value, by a little noise that depends on the number of the run.
TrialOutcome around(double value, std::size_t number) {
  const double centre = value * (1 + 0.002 * static_cast<double>(number % 3));
  return complete_trial({centre * 0.999, centre, centre * 1.001});
}

using Order = std::vector<std::int64_t>;

TEST(Confirmation, TheBetterOfWinnerAndRivalIsRecommended) {
  Rivals rivals;
  for (const std::int64_t better : {2, 4}) {
    rivals.run = [better](std::int64_t a, std::size_t number) {
      return around(a == 1 ? 100 : a == better ? 80 : 85, number);
    };
    const StudyResult result = rivals.confirmed();
    EXPECT_TRUE(result.promoted) << result.reason;
    EXPECT_EQ(result.best.params, Rivals::setting(better));
    EXPECT_EQ(rivals.order, (Order{1, 2, 4, 4, 2, 1})) << "they alternate";
    EXPECT_NEAR(result.gain, 0.2, 0.01);
    EXPECT_THAT(result.reason, HasSubstr(better == 2 ? "; the setting of trial 3 was "
                                                     : "; the setting of trial 2 was "));
  }
}

TEST(Confirmation, ARivalThatWasLuckyIsNotRecommended) {
  Rivals rivals;
  rivals.run = [](std::int64_t a, std::size_t number) {
    return around(a == 1 ? 100 : a == 4 && number > 0 ? 99 : 80, number);
  };
  EXPECT_EQ(rivals.confirmed().best.params, Rivals::setting(2));
}

TEST(Confirmation, ARoundIsRunByOneWorker) {
  Rivals rivals;
  rivals.run = [](std::int64_t a, std::size_t number) { return around(a == 1 ? 100 : 80, number); };
  // The first worker leaves after its second run, so that its round counts for nothing.
  rivals.worker = [](std::size_t number) { return number <= 2 ? "first" : "second"; };
  EXPECT_TRUE(rivals.confirmed().promoted);
  EXPECT_EQ(rivals.order, (Order{1, 2, 4, 1, 2, 4, 2, 1}));
}

TEST(Confirmation, ACandidateThatFailsLeavesTheOther) {
  Rivals rivals;
  for (const std::int64_t failing : {2, 4}) {
    rivals.run = [failing](std::int64_t a, std::size_t number) {
      return a == failing && number > 0 ? failed_outcome("out of memory")
                                        : around(a == 1 ? 100 : 80, number);
    };
    const StudyResult result = rivals.confirmed();
    EXPECT_TRUE(result.promoted) << result.reason;
    EXPECT_EQ(result.best.params, Rivals::setting(failing == 2 ? 4 : 2));
    EXPECT_EQ(std::ranges::count(rivals.order, failing), 1);
  }
  rivals.run = [](std::int64_t a, std::size_t number) {
    return a > 1 && number > 0 ? failed_outcome("out of memory") : around(100, number);
  };
  const StudyResult none = rivals.confirmed();
  EXPECT_FALSE(none.promoted);
  EXPECT_THAT(none.reason, HasSubstr("a confirmation run of the winner did not complete"));
}

TEST(Confirmation, WithAFailedDefaultTheBetterCandidateIsTaken) {
  Rivals rivals;
  rivals.run = [](std::int64_t a, std::size_t number) {
    return a == 1 ? failed_outcome("out of memory") : around(a == 2 ? 85 : 80, number);
  };
  const StudyResult result = rivals.confirmed();
  EXPECT_TRUE(result.promoted);
  EXPECT_EQ(result.best.params, Rivals::setting(4));
  EXPECT_EQ(rivals.order, (Order{2, 4, 4, 2}));
}

/// A setting that is better than a smooth model can believe, as where an algorithm changes.
TEST(Confirmation, ComparesASettingThatWasMeasuredBetterThanTheRecommendedOne) {
  int compared = 0, better = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    StudyFixture fixture;
    fixture.options.session.search.seed = seed;
    fixture.options.compares_measured = true;
    Params special;
    fixture.job = [&](const Params& params, std::size_t run) -> Result<TrialOutcome> {
      if (run == 6) special = params;
      const double value = true_study_value(params) * (params == special ? 0.8 : 1);
      return complete_trial({value * 0.999, value, value * 1.001});
    };
    const auto result = fixture.run().value();
    std::set<Params> confirmed;
    for (const Trial& trial : result.trials) {
      if (trial.phase == TrialPhase::confirm) confirmed.insert(trial.params);
    }
    const auto lowest = std::ranges::min_element(
        result.trials, {}, [](const Trial& trial) { return *trial.outcome.value; });
    EXPECT_EQ(result.best.params, lowest->params) << "seed " << seed;
    EXPECT_LE(confirmed.size(), 3u);
    if (confirmed.size() == 3) ++compared;
    if (result.promoted) ++better;
  }
  EXPECT_GT(compared, 0);
  EXPECT_EQ(better, 20);
}

}  // namespace
}  // namespace hocket
