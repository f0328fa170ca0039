#include "tuner/study/study_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/base/statistics.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr SearchMethod kMethods[] = {SearchMethod::model, SearchMethod::random, SearchMethod::sobol,
                                     SearchMethod::tpe, SearchMethod::grid};

SessionOptions session_of(SearchMethod method, std::uint64_t seed, std::int64_t trials = 16) {
  return {.space = Space::make({{"a", IntegerRange{1, 64, true}, std::int64_t{1}},
                                {"b", IntegerRange{1, 9}, std::int64_t{9}}})
                       .value(),
          .search = {.method = method, .seed = seed},
          .trials = trials};
}

double level(const Params& params, const char* name) {
  return static_cast<double>(std::get<std::int64_t>(params.at(name)));
}

TrialOutcome still_running() {
  TrialOutcome outcome;
  outcome.state = TrialState::running;
  return outcome;
}

/// A function of the setting alone; every seventh value of b fails.
TrialOutcome outcome_for(const Params& params) {
  if (level(params, "b") == 7) {
    TrialOutcome outcome;
    outcome.message = "seven";
    return outcome;
  }
  const double value = 100 + 5 * std::abs(std::log2(level(params, "a")) - 4) + level(params, "b");
  return complete_trial({0.99 * value, value, 1.01 * value});
}

/// Drives a session and keeps its trials as a store would; times count the events.
class Record {
 public:
  explicit Record(SessionOptions options)
      : session_(StudySession::make(std::move(options)).value()) {}

  /// Asks; false when there is no setting now.
  bool ask() {
    const SessionNext next = session_.ask();
    if (!next.params) return false;
    asked.push_back(next);
    kept.push_back({.number = kept.empty() ? 0 : kept.back().number + 1,
                    .params = *next.params,
                    .outcome = still_running(),
                    .began = ++now_});
    return true;
  }

  void tell(Trial& trial) {
    trial.outcome = outcome_for(trial.params);
    trial.ended = ++now_;
    ASSERT_TRUE(session_.tell(trial.params, trial.outcome));
  }

  void lose(std::size_t place) {
    session_.give_back(kept[place].params);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(place));
  }

  std::vector<std::size_t> running() const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i].outcome.state == TrialState::running) places.push_back(i);
    return places;
  }

  StudySession& session() { return session_; }

  std::vector<SessionNext> asked;
  std::vector<Trial> kept;

 private:
  StudySession session_;
  std::int64_t now_ = 0;
};

/// The trials that a store has before the event at `time` of `record`.
std::vector<Trial> until(const std::vector<Trial>& record, std::int64_t time) {
  std::vector<Trial> past;
  for (Trial trial : record) {
    if (trial.began >= time) continue;
    if (trial.ended >= time) trial.outcome = still_running();
    past.push_back(std::move(trial));
  }
  return past;
}

/// Runs to the end with up to `workers` trials outstanding, which end in any order.
void run_out_of_order(Record& record, std::size_t workers, std::mt19937_64& random) {
  for (;;) {
    auto running = record.running();
    if (running.size() < workers && (running.empty() || random() % 2 == 0) && record.ask())
      continue;
    running = record.running();
    if (running.empty()) return;
    record.tell(record.kept[running[random() % running.size()]]);
  }
}

TEST(StudySession, WhatIsMaximisedIsToldAndRecommendedAsItWasMeasured) {
  for (const auto method : {SearchMethod::model, SearchMethod::tpe, SearchMethod::random}) {
    SCOPED_TRACE(to_string(method));
    auto options = session_of(method, 1);
    options.search.simulate = false;
    options.search.direction = Direction::maximise;
    options.directions = {Direction::maximise};
    auto session = StudySession::make(options).value();
    double highest = 0;
    std::size_t best = 0;
    while (const auto next = session.ask().params) {
      // The lower outcome_for() is, the higher is this.
      auto outcome = outcome_for(*next);
      for (double& sample : outcome.samples) sample = 1e4 / sample;
      outcome.value = 1e4 / *outcome.value;
      const bool is_complete = outcome.state == TrialState::complete;
      if (is_complete && outcome.value > highest) {
        highest = *outcome.value;
        best = session.told();
      }
      ASSERT_TRUE(session.tell(*next, outcome));
      EXPECT_EQ(session.best().has_value(), highest > 0);
    }
    EXPECT_EQ(session.best(), best);
    const auto recommended = session.recommend().value();
    EXPECT_NEAR(recommended.expected, highest, 0.1 * highest);
    EXPECT_THAT(recommended.reason, Not(HasSubstr("expects -")));
  }
}

TEST(StudySession, AnyPrefixOfItsTrialsGoesOnWithTheSameAsks) {
  std::mt19937_64 random(1);
  for (const SearchMethod method : kMethods) {
    for (const std::size_t workers : {1, 3}) {
      SCOPED_TRACE(std::string(to_string(method)) + " " + std::to_string(workers));
      const auto options = session_of(method, workers);
      Record record(options);
      run_out_of_order(record, workers, random);
      ASSERT_EQ(record.kept.size(), 16U);
      for (std::size_t i = 0; i < record.kept.size(); ++i) {
        SCOPED_TRACE(i);
        auto resumed = StudySession::make(options, until(record.kept, record.kept[i].began));
        ASSERT_TRUE(resumed) << resumed.error().message;
        const SessionNext next = resumed->ask();
        EXPECT_EQ(next.params, record.asked[i].params);
        EXPECT_EQ(next.kind, record.asked[i].kind);
        EXPECT_EQ(next.reason, record.asked[i].reason);
      }
      auto ended = StudySession::make(options, record.kept);
      ASSERT_TRUE(ended);
      EXPECT_TRUE(ended->ask().is_over);
      EXPECT_TRUE(record.session().ask().is_over);
      EXPECT_EQ(ended->end_reason(), record.session().end_reason());
      EXPECT_EQ(ended->best(), record.session().best());
      EXPECT_EQ(ended->recommend()->params, record.session().recommend()->params);
    }
  }
}

TEST(StudySession, SaysAgainWhyEachTrialWasAsked) {
  std::mt19937_64 random(2);
  const auto options = session_of(SearchMethod::model, 4);
  Record record(options);
  run_out_of_order(record, 3, random);
  std::vector<std::string> reasons;
  const auto replayed =
      StudySession::make(options, record.kept, [&](const Trial& trial, const SessionNext& next) {
        EXPECT_EQ(next.params, trial.params);
        reasons.push_back(next.reason);
      });
  ASSERT_TRUE(replayed);
  for (std::size_t i = 0; i < reasons.size(); ++i) EXPECT_EQ(reasons[i], record.asked[i].reason);
}

TEST(StudySession, LostRunsAreAskedAgainEvenAfterARestart) {
  std::mt19937_64 random(3);
  for (const SearchMethod method : kMethods) {
    SCOPED_TRACE(to_string(method));
    // Few enough settings that a lost one would be missed.
    SessionOptions options = session_of(method, 1, 100);
    options.space = Space::make({{"a", IntegerRange{1, 4}, std::int64_t{1}},
                                 {"b", IntegerRange{1, 5}, std::int64_t{5}}})
                        .value();
    std::vector<Trial> kept;
    std::int64_t now = 0;
    auto session = StudySession::make(options).value();
    for (int step = 0; step < 400; ++step) {
      std::vector<std::size_t> running;
      for (std::size_t i = 0; i < kept.size(); ++i)
        if (kept[i].outcome.state == TrialState::running) running.push_back(i);
      const auto choice = random() % 8;
      if (choice < 4 || running.empty()) {
        const SessionNext next = session.ask();
        if (next.is_over) break;
        if (!next.params) continue;
        kept.push_back({.number = kept.empty() ? 0 : kept.back().number + 1,
                        .params = *next.params,
                        .outcome = still_running(),
                        .began = ++now});
      } else if (choice < 6) {
        Trial& trial = kept[running[random() % running.size()]];
        trial.outcome = outcome_for(trial.params);
        trial.ended = ++now;
        ASSERT_TRUE(session.tell(trial.params, trial.outcome));
      } else if (choice == 6) {
        const std::size_t place = running[random() % running.size()];
        session.give_back(kept[place].params);
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(place));
      } else {
        session = StudySession::make(options, kept).value();
      }
    }
    std::map<Params, int> told;
    for (const Trial& trial : kept)
      if (trial.outcome.state != TrialState::running) ++told[trial.params];
    EXPECT_EQ(told.size(), 20U);
    for (const auto& [params, count] : told) EXPECT_EQ(count, 1);
  }
}

TEST(StudySession, ALossThatLeavesAGapChangesNothingThatFollows) {
  for (const SearchMethod method : kMethods) {
    SCOPED_TRACE(to_string(method));
    const auto options = session_of(method, 2);
    Record record(options);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(record.ask());
      record.tell(record.kept.back());
    }
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(record.ask());
    record.lose(2);
    auto resumed = StudySession::make(options, record.kept).value();
    for (int i = 0; i < 4; ++i) {
      const SessionNext next = record.session().ask(), again = resumed.ask();
      EXPECT_EQ(again.params, next.params);
      EXPECT_EQ(again.kind, next.kind);
      EXPECT_EQ(next.kind == AskKind::again, i == 0);
    }
  }
}

TEST(StudySession, EndsWithItsBudgetOnceNothingIsOutstanding) {
  Record record(session_of(SearchMethod::random, 1, 3));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(record.ask());
  SessionNext none = record.session().ask();
  EXPECT_FALSE(none.params);
  EXPECT_FALSE(none.is_over);
  EXPECT_EQ(none.reason, "all trials are taken");
  EXPECT_EQ(record.session().end(), SessionEnd::none);
  for (auto& trial : record.kept) record.tell(trial);
  none = record.session().ask();
  EXPECT_TRUE(none.is_over);
  EXPECT_EQ(none.reason, "3 trials were run");
  EXPECT_EQ(record.session().end(), SessionEnd::trials);
}

TEST(StudySession, EndsWithItsSpace) {
  SessionOptions options = session_of(SearchMethod::grid, 1);
  options.space = Space::make({{"a", IntegerRange{1, 2}, std::int64_t{1}},
                               {"b", IntegerRange{8, 9}, std::int64_t{9}}})
                      .value();
  Record record(options);
  while (record.ask()) continue;
  EXPECT_EQ(record.kept.size(), 4U);
  EXPECT_EQ(record.session().ask().reason, "every setting is taken");
  for (auto& trial : record.kept) record.tell(trial);
  EXPECT_TRUE(record.session().ask().is_over);
  EXPECT_EQ(record.session().end(), SessionEnd::space);
}

TEST(StudySession, ARuleEndsItForGoodAndWaitsForWhatIsOutstanding) {
  SessionOptions options = session_of(SearchMethod::model, 1, 60);
  options.stop_early = true;
  std::mt19937_64 random(5);
  for (const std::size_t workers : {1, 3}) {
    Record record(options);
    run_out_of_order(record, workers, random);
    EXPECT_EQ(record.session().end(), SessionEnd::rule);
    EXPECT_LT(record.kept.size(), 60U);
    EXPECT_GE(record.kept.size(), std::size_t{kLeastTrials});
    EXPECT_TRUE(record.session().ask().is_over);
    const auto again = StudySession::make(options, record.kept);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->end(), SessionEnd::rule);
    EXPECT_EQ(again->end_reason(), record.session().end_reason());
    // One before the end, the rule has not spoken.
    auto last = std::ranges::max_element(record.kept, {}, &Trial::ended);
    if (workers == 1) {
      last->outcome = still_running();
      EXPECT_EQ(StudySession::make(options, record.kept)->end(), SessionEnd::none);
    }
  }
  options.stop_early = false;
  Record record(options);
  run_out_of_order(record, 1, random);
  EXPECT_EQ(record.session().end(), SessionEnd::trials);
}

TEST(StudySession, NoRuleEndsItBeforeTheLeastTrials) {
  const auto trials_until_a_rule = [](std::int64_t least) {
    SessionOptions options = session_of(SearchMethod::model, 3, 40);
    options.stop_early = true;
    options.least_trials = least;
    auto session = StudySession::make(options).value();
    while (const auto params = session.ask().params) {
      EXPECT_TRUE(session.tell(*params, complete_trial({100, 100, 101})));
    }
    EXPECT_EQ(session.end(), SessionEnd::rule);
    return session.told();
  };
  EXPECT_LT(trials_until_a_rule(kLeastTrials), 12u);
  EXPECT_GE(trials_until_a_rule(12), 12u);
}

TEST(StudySession, WhatMayStillGainIsWorthTwoLooksTheLowestFirst) {
  auto session = StudySession::make(session_of(SearchMethod::random, 1)).value();
  const auto point = [](std::int64_t a) { return Params{{"a", a}, {"b", std::int64_t{1}}}; };
  const auto tell = [&](std::int64_t a, double value, double scatter) {
    ASSERT_TRUE(session.tell(
        point(a), complete_trial({value - scatter, value, value + scatter, value, value})));
  };
  EXPECT_FALSE(session.worth_another_look(100, 0.02, {}));
  tell(1, 100, 0.01);   // as good, for certain
  tell(2, 98.5, 0.01);  // gains less than is worthwhile, for certain
  EXPECT_FALSE(session.worth_another_look(100, 0.02, {}));
  ASSERT_TRUE(session.tell(point(3), complete_trial({90, 95, 99, 104, 110})));
  ASSERT_TRUE(session.tell(point(4), complete_trial({92, 96, 100, 104, 108})));
  EXPECT_EQ(session.worth_another_look(100, 0.02, {}), point(3));
  EXPECT_EQ(session.worth_another_look(100, 0.02,
                                       [&](const Params& params) { return params == point(3); }),
            point(4));
  ASSERT_TRUE(session.tell(point(3), complete_trial({90, 95, 99, 104, 110})));
  EXPECT_EQ(session.worth_another_look(100, 0.02, {}), point(3));
  ASSERT_TRUE(session.tell(point(3), complete_trial({90, 95, 99, 104, 110})));
  EXPECT_EQ(session.worth_another_look(100, 0.02, {}), point(4)) << "3 was told three times";
  ASSERT_TRUE(session.tell(point(4), TrialOutcome{}));
  ASSERT_TRUE(session.tell(point(4), TrialOutcome{}));
  EXPECT_FALSE(session.worth_another_look(100, 0.02, {}));
}

TEST(StudySession, TheLastTrialIsOfWhatIsRecommendedIfThatWasNotTried) {
  // The wider the credit window the better; the simulator soon believes in windows nobody tried.
  SessionOptions options = session_of(SearchMethod::model, 1);
  const std::vector<std::string> knobs{"partition_bytes", "credit_bytes"};
  options.space = Space::make(schedule_parameters(knobs).value()).value();
  int untried = 0;
  for (std::int64_t trials = 3; trials <= 6; ++trials) {
    options.trials = trials;
    auto session = StudySession::make(options).value();
    std::vector<Params> tried;
    for (std::int64_t i = 0; i < trials; ++i) {
      const auto recommended = session.recommend();
      const SessionNext next = session.ask();
      ASSERT_TRUE(next.params);
      if (i + 1 == trials && std::ranges::count(tried, recommended->params) == 0) {
        ++untried;
        EXPECT_EQ(next.kind, AskKind::recommended);
        EXPECT_EQ(next.params, recommended->params);
        EXPECT_EQ(next.reason, "what is recommended, tried before the end; " + recommended->reason);
      } else {
        EXPECT_EQ(next.kind, AskKind::search);
      }
      tried.push_back(*next.params);
      const double value = 1e8 * (3 - std::log2(level(*next.params, "credit_bytes")) / 40);
      ASSERT_TRUE(
          session.tell(*next.params, complete_trial({0.999 * value, value, 1.001 * value})));
    }
  }
  EXPECT_GT(untried, 0);
}

TEST(StudySession, PassesOverWhatIsExcludedAndPrefersWhatItIsGiven) {
  auto session = StudySession::make(session_of(SearchMethod::random, 1)).value();
  const Params preferred{{"a", std::int64_t{3}}, {"b", std::int64_t{4}}};
  const Params excluded{{"a", std::int64_t{3}}, {"b", std::int64_t{5}}};
  const Params outside{{"a", std::int64_t{3}}, {"b", std::int64_t{50}}};
  session.prefer({outside, excluded, preferred, preferred});
  const auto is_excluded = [&](const Params& params) { return level(params, "b") == 5; };
  SessionNext next = session.ask(is_excluded);
  EXPECT_EQ(next.params, preferred);
  EXPECT_EQ(next.kind, AskKind::preferred);
  session.withdraw(preferred);
  for (int i = 0; i < 14; ++i) {
    next = session.ask(is_excluded);
    ASSERT_TRUE(next.params);
    EXPECT_EQ(next.kind, AskKind::search);
    EXPECT_FALSE(is_excluded(*next.params));
  }
}

TEST(StudySession, GivenTrialsCountAndAreNotAskedFor) {
  const auto options = session_of(SearchMethod::random, 1, 5);
  auto session = StudySession::make(options).value();
  const Params given{{"a", std::int64_t{3}}, {"b", std::int64_t{4}}};
  std::vector<Trial> past;
  const auto keep = [&](const Params& params, bool is_given) {
    const auto number = static_cast<std::int64_t>(past.size());
    past.push_back({.number = number,
                    .params = params,
                    .outcome = outcome_for(params),
                    .began = number,
                    .ended = number,
                    .is_given = is_given});
    ASSERT_TRUE(session.tell(params, outcome_for(params)));
  };
  keep(given, true);
  keep(*session.ask().params, false);
  keep(given, true);
  EXPECT_EQ(session.told(), 3U);
  auto resumed = StudySession::make(options, past).value();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(resumed.ask().params, session.ask().params);
}

TEST(StudySession, RefusesTrialsOfAnotherSpaceWithTheirNumbers) {
  const auto options = session_of(SearchMethod::model, 1);
  const Params defaults = options.space.defaults();
  const auto problem = [&](std::vector<Trial> past) {
    const auto session = StudySession::make(options, past);
    return session ? std::string() : session.error().message;
  };
  const Trial fine{.number = 0, .params = defaults, .outcome = complete_trial({1})};
  Trial bad = fine;
  bad.number = 1;
  EXPECT_EQ(problem({fine, bad}), "");
  bad.outcome.value = NAN;
  EXPECT_THAT(problem({fine, bad}), HasSubstr("trial 2: expected a finite value"));
  bad.params["a"] = std::int64_t{65};
  EXPECT_THAT(problem({fine, bad}), HasSubstr("trial 2: parameter a"));
  EXPECT_THAT(problem({fine, fine}), HasSubstr("trial 1: its number"));
  auto none = options;
  none.trials = 0;
  EXPECT_EQ(StudySession::make(none).error().message, "trials: expected at least 1, found 0");
}

TEST(StudySession, TheErrorOfAReferenceAddsToThatOfAValue) {
  const Params params{{"a", std::int64_t{1}}};
  TrialOutcome outcome = complete_trial({90, 100, 110, 120});
  const double own = evaluation_of(params, outcome).standard_error;
  EXPECT_EQ(own, median_standard_error(*outcome.spread, 4));
  outcome.metrics[kReferenceMetric] = {190, 200, 210, 230};
  const auto& reference = outcome.metrics[kReferenceMetric];
  const double share = median_standard_error(spread(reference), 4) / median(reference);
  EXPECT_DOUBLE_EQ(evaluation_of(params, outcome).standard_error, own + share * *outcome.value);
  outcome.state = TrialState::failed;
  EXPECT_EQ(evaluation_of(params, outcome), (Evaluation{.params = params, .value = {}}));
}

TEST(StudySession, TimesOfASingleObjectiveAreSimulated) {
  StudyDefinition definition{
      .space = session_of(SearchMethod::model, 1).space, .objective = {}, .working_directory = "/"};
  for (const char* text : {"auto", "wall", "report", "regex:t=(.)", "file:x", "memory"}) {
    definition.objective = parse_objective(text).value();
    EXPECT_EQ(uses_simulator(definition), definition.objective.kind != ObjectiveKind::memory)
        << text;
    EXPECT_EQ(session_options(definition).search.simulate, uses_simulator(definition));
    EXPECT_EQ(session_options(definition).search.objectives, 1U);
  }
  definition.objective = parse_objective("report").value();
  definition.other_objectives = {parse_objective("memory").value()};
  EXPECT_FALSE(uses_simulator(definition));
  EXPECT_EQ(session_options(definition).search.objectives, 2U);
}

}  // namespace
}  // namespace hocket
