#include "core/protocol/trial_outcome.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hocket {
namespace {

TrialOutcome of_two_objectives() {
  TrialOutcome outcome = complete_trial({2, 3, 4, 8});
  outcome.metrics = {{"wall_ns", {9}}, {metric_of_other(0), {7, 8, 9}}};
  outcome.others = {8};
  return outcome;
}

TEST(TrialOutcome, OfSamplesIsTheirMedian) {
  const TrialOutcome outcome = complete_trial({1, 2, 9});
  EXPECT_EQ(outcome.state, TrialState::complete);
  EXPECT_EQ(outcome.value, 2);
  EXPECT_EQ(outcome.samples, (std::vector<double>{1, 2, 9}));
}

TEST(TrialOutcome, MeasurementsAreTakenApartAsTheyWerePutTogether) {
  TrialOutcome failed = of_two_objectives();
  set_failed(failed, "no");
  for (const TrialOutcome& outcome : {of_two_objectives(), failed, TrialOutcome{}}) {
    TrialOutcome again = outcome;
    again.samples = {1};
    again.metrics = {{"old", {1}}};
    again.others = {1, 2};
    take_measurements(again, measurements_of(outcome));
    EXPECT_EQ(again, outcome);
  }
  EXPECT_EQ(measurements_of(of_two_objectives()).at(kSamplesMetric),
            (std::vector<double>{2, 3, 4, 8}));
}

TEST(TrialOutcome, FurtherObjectivesAreReadUpToTheFirstGap) {
  EXPECT_EQ(others_in({{metric_of_other(0), {7, 8, 9}}, {metric_of_other(2), {1}}}),
            (std::vector<double>{8}));
  EXPECT_EQ(others_in({{metric_of_other(0), {}}}), std::vector<double>());
}

TEST(TrialOutcome, CostsAreOfEveryObjective) {
  EXPECT_EQ(costs_of(of_two_objectives(), std::vector{Direction::minimise, Direction::maximise}),
            (std::vector<double>{3.5, -8}));
}

TEST(TrialOutcome, AValueThatIsNotFiniteFails) {
  EXPECT_EQ(finite_or_failed(of_two_objectives()), of_two_objectives());
  for (const bool is_first : {true, false}) {
    TrialOutcome outcome = of_two_objectives();
    (is_first ? *outcome.value : outcome.others[0]) = -INFINITY;
    const TrialOutcome failed = finite_or_failed(outcome);
    EXPECT_EQ(failed.state, TrialState::failed);
    EXPECT_EQ(failed.message, "expected a finite value, found -inf");
    EXPECT_FALSE(failed.value || failed.spread);
    EXPECT_TRUE(failed.samples.empty());
    EXPECT_EQ(failed.metrics, outcome.metrics);
  }
}

TEST(Trial, NamesComeBack) {
  for (const auto phase : {TrialPhase::search, TrialPhase::confirm}) {
    EXPECT_EQ(parse_trial_phase(to_string(phase)), phase);
  }
  for (const auto state :
       {TrialState::running, TrialState::complete, TrialState::failed, TrialState::timeout}) {
    EXPECT_EQ(parse_trial_state(to_string(state)), state);
  }
  EXPECT_EQ(parse_trial_state("done").error().message,
            "trial state: expected one of running, complete, failed, timeout, found \"done\"");
  EXPECT_FALSE(parse_trial_phase("Search"));
}

}  // namespace
}  // namespace hocket
