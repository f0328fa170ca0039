#include "archive/studies/told_trial.h"

#include <gtest/gtest.h>

#include "tests/store/fixtures.h"
#include "tuner/study/study_session.h"

namespace hocket {
namespace {

TrialOutcome full_outcome() {
  TrialOutcome outcome = complete_trial({2, 3, 4, 8});
  outcome.metrics = {{"wall_ns", {9}}, {kReferenceMetric, {5, 6}}, {metric_of_other(0), {7, 8, 9}}};
  outcome.others = {8};
  outcome.message = "ended early";
  return outcome;
}

class ToldTrial : public testing::Test {
 protected:
  /// Stores a trial that ends with `outcome` and reads it again.
  TrialRow stored(const TrialOutcome& outcome) {
    const auto row =
        must(store_->start_trial({.study_id = study_.id, .params = {{"x", 4}, {"y", "z"}}}));
    if (outcome.state != TrialState::running) must(store_->finish_trial(row.id, outcome));
    return must(store_->trials(study_.id, TrialDetail::with_measurements)).back();
  }

  std::int64_t now_ns_ = 100;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return ++now_ns_; });
  StudyRow study_ = must(store_->create_study(sample_study()));
};

TEST_F(ToldTrial, AnOutcomeComesBackFromTheStoreAsItWas) {
  TrialOutcome failed;
  failed.message = "no";
  failed.metrics = {{"wall_ns", {1}}};
  TrialOutcome late = failed;
  late.state = TrialState::timeout;
  for (const TrialOutcome& outcome : {full_outcome(), failed, late}) {
    const TrialRow row = stored(outcome);
    EXPECT_EQ(outcome_of(row), outcome);
    const Params params{{"x", std::int64_t{4}}, {"y", std::string("z")}};
    const auto trial = must(trial_of(row));
    EXPECT_EQ(trial, (Trial{.id = row.id,
                            .number = row.number - 1,
                            .phase = TrialPhase::search,
                            .params = params,
                            .outcome = outcome,
                            .began = row.started_at_ns,
                            .ended = row.finished_at_ns.value()}));
    EXPECT_EQ(evaluation_of(params, trial.outcome), evaluation_of(params, outcome));
  }
}

TEST_F(ToldTrial, ARunningTrialIsOutstanding) {
  TrialOutcome still_running;
  still_running.state = TrialState::running;
  EXPECT_EQ(must(trial_of(stored(still_running))).outcome.state, TrialState::running);
}

TEST_F(ToldTrial, ParametersThatCannotBeReadAreAnErrorWithTheTrialsNumber) {
  TrialRow row = stored(full_outcome());
  row.params = {{"x", nlohmann::json::array()}};
  EXPECT_EQ(message_of(trial_of(row)).find("trial 1: "), 0U);
}

}  // namespace
}  // namespace hocket
