#include "archive/studies/study_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "archive/studies/open_study.h"
#include "archive/studies/owner.h"
#include "archive/studies/study_job.h"
#include "archive/studies/study_result.h"
#include "archive/studies/told_trial.h"
#include "core/step/schedule_config.h"
#include "store/open.h"
#include "tests/store/faulty_store.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(PromotedConfig, IsAScheduleWhenAParameterIsAKnob) {
  const auto config = promoted_config({{"streams", std::int64_t{3}}, {"X", std::string("y")}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->at("X"), "y");
  const auto schedule = schedule_config_from_json(*config);
  ASSERT_TRUE(schedule) << schedule.error().message;
  EXPECT_EQ(schedule->streams, 3);
  EXPECT_EQ(schedule->partition_bytes, ScheduleConfig().partition_bytes);
}

TEST(PromotedConfig, IsTheParametersWhenNoneIs) {
  EXPECT_EQ(*promoted_config({{"X", std::int64_t{3}}}), nlohmann::json({{"X", 3}}));
}

class StudyRecordTest : public ::testing::Test {
 protected:
  StudyRecordTest()
      : definition_{.space = *Space::make({*parse_parameter("X=int:1..9")}),
                    .objective = *parse_objective("wall"),
                    .working_directory = "/"} {
    study_ = start_study(*store_, {definition_, {"job"}, "s", {.name = "work"}, {}})->study;
  }

  StudyRecord record(Store& store) { return {store, study_, *topology_of(*store_, study_), false}; }
  StudyRecord record() { return record(*store_); }

  static Trial finished(std::int64_t number, double value) {
    Trial trial{
        .number = number, .params = {{"X", number + 1}}, .outcome = complete_trial({value})};
    trial.outcome.metrics["wall_ns"] = {value};
    return trial;
  }

  static RunReport report() {
    RunReport report;
    report.topology.link = "emulated 1gbit";
    report.topology.world_size = 2;
    report.workload = {"reported", {{"w", 4}}};
    return report;
  }

  static StudyResult result(bool promoted) {
    return {.default_params = {{{"X", std::int64_t{1}}}, 4.0, 0},
            .best = {{{"X", std::int64_t{2}}}, 2.0, 0},
            .promoted = promoted,
            .gain = 0.5,
            .needed = 0.1,
            .reason = "why",
            .trials = {}};
  }

  StudyRow stored() { return *store_->study("s"); }

  std::unique_ptr<Store> store_ = open_store_in_memory();
  StudyDefinition definition_;
  StudyRow study_;
};

TEST_F(StudyRecordTest, KeepsWhyTheSearchStoppedBesideWhatTheDefinitionHasGot) {
  definition_.donor = Donor{.study = "earlier", .evaluations = {}};
  ASSERT_TRUE(store_->update_study(study_.id, {.definition = to_json(definition_)}));
  ASSERT_TRUE(record().search_stopped("little is left to gain"));
  definition_.stopped = "little is left to gain";
  EXPECT_EQ(study_definition_from_json(stored().definition).value(), definition_);
}

TEST_F(StudyRecordTest, KeepsTheOutputOfATrial) {
  auto record = this->record();
  ASSERT_TRUE(record.trial_started(0, TrialPhase::search, {{"X", std::int64_t{1}}}));
  Trial trial = finished(0, 5);
  trial.outcome.output = {"out", "err"};
  ASSERT_TRUE(record.trial_finished(trial));
  const auto rows = store_->trials(study_.id, TrialDetail::summary).value();
  EXPECT_EQ(store_->trial_output(rows[0].id).value(), trial.outcome.output);
}

TEST_F(StudyRecordTest, KeepsEveryTrialAndMeasurementAsItHappens) {
  auto record = this->record();
  const auto trial = finished(0, 7);
  ASSERT_TRUE(record.trial_started(0, trial.phase, trial.params));
  auto rows = *store_->trials(study_.id, TrialDetail::with_measurements);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, TrialState::running);
  ASSERT_TRUE(record.trial_finished(trial));
  rows = *store_->trials(study_.id, TrialDetail::with_measurements);
  EXPECT_EQ(rows[0].value, 7);
  EXPECT_EQ(rows[0].measurements, (Measurements{{"objective", {7}}, {"wall_ns", {7}}}));
  auto again = trial_of(rows[0]);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->id, rows[0].id);
  EXPECT_EQ(again->number, trial.number);
  EXPECT_EQ(again->params, trial.params);
  EXPECT_EQ(again->outcome, trial.outcome);
  EXPECT_EQ(record.finished_trials(), 1);
}

TEST_F(StudyRecordTest, AFailedTrialHasAMessageAndNoValue) {
  auto record = this->record();
  Trial trial{.params = {{"X", std::int64_t{1}}}, .outcome = {}};
  trial.outcome.message = "broken";
  ASSERT_TRUE(record.trial_started(0, trial.phase, trial.params));
  ASSERT_TRUE(record.trial_finished(trial));
  const auto rows = *store_->trials(study_.id, TrialDetail::summary);
  EXPECT_EQ(rows[0].state, TrialState::failed);
  EXPECT_FALSE(rows[0].value);
  EXPECT_EQ(rows[0].message, "broken");
}

TEST_F(StudyRecordTest, TheFirstReportSaysWhatRanWhere) {
  auto record = this->record();
  for (std::int64_t i = 0; i < 2; ++i) {
    auto trial = finished(i, 7);
    trial.outcome.report = report();
    trial.outcome.report->workload.name += std::to_string(i);
    ASSERT_TRUE(record.trial_started(i, trial.phase, trial.params));
    ASSERT_TRUE(record.trial_finished(trial));
  }
  EXPECT_EQ(workload_of(*store_, stored())->name, "reported0");
  EXPECT_EQ(topology_of(*store_, stored())->world_size, 2);
  EXPECT_EQ(record.topology(), report().topology);
}

TEST_F(StudyRecordTest, FinishingPromotesForWhatTheReportSaid) {
  auto record = this->record();
  auto trial = finished(0, 7);
  trial.outcome.report = report();
  ASSERT_TRUE(record.trial_started(0, trial.phase, trial.params));
  ASSERT_TRUE(record.trial_finished(trial));
  ASSERT_TRUE(record.finish(result(true)));
  EXPECT_EQ(stored().state, StudyState::finished);
  EXPECT_EQ(stored().result, to_json(result(true)));
  const auto promoted =
      store_->current_promotion(fingerprint(report().topology), fingerprint(report().workload));
  ASSERT_TRUE(promoted && *promoted);
  EXPECT_EQ((*promoted)->config, nlohmann::json({{"X", 2}}));
  EXPECT_EQ((*promoted)->measured, (MeasuredGain{2, 4, 0.5}));
  EXPECT_EQ((*promoted)->actor, actor_text());
}

TEST_F(StudyRecordTest, NothingIsPromotedWhenTheDefaultStays) {
  ASSERT_TRUE(record().finish(result(false)));
  EXPECT_EQ(stored().state, StudyState::finished);
  EXPECT_TRUE(store_->promotions({})->empty());
}

TEST_F(StudyRecordTest, StoppingLeavesNoRunningTrial) {
  auto record = this->record();
  ASSERT_TRUE(record.trial_started(0, TrialPhase::search, {{"X", std::int64_t{1}}}));
  ASSERT_TRUE(record.stop(false));
  EXPECT_TRUE(store_->trials(study_.id, TrialDetail::summary)->empty());
  EXPECT_EQ(stored().state, StudyState::interrupted);
}

TEST_F(StudyRecordTest, WhoeverLostTheStudyFindsOut) {
  auto record = this->record();
  ASSERT_TRUE(store_->update_study(study_.id, {.owner = "another"}));
  EXPECT_FALSE(record.finish(result(false)));
  EXPECT_FALSE(record.stop(false));
  ASSERT_TRUE(store_->start_trial({.study_id = study_.id}));
  const auto started = record.trial_started(0, TrialPhase::search, {{"X", std::int64_t{1}}});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("another process"));
}

TEST_F(StudyRecordTest, LeavesTheTrialsOfWorkersToThemAndTakesWhatTheyNamed) {
  StudyRecord record(*store_, study_, *topology_of(*store_, study_), false, true);
  NewTrial offer{.study_id = study_.id, .params = {{"X", 1}}};
  offer.is_offered = true;
  ASSERT_TRUE(store_->start_trial(offer));
  const auto trial = finished(0, 7);
  ASSERT_TRUE(record.trial_started(0, trial.phase, trial.params));
  EXPECT_EQ(store_->trials(study_.id, TrialDetail::summary)->size(), 1U);
  StudyRow of_worker = stored();
  ASSERT_TRUE(describe_study(*store_, of_worker, report()));
  ASSERT_TRUE(record.trial_finished(trial));
  EXPECT_EQ(record.finished_trials(), 1);
  EXPECT_EQ(record.topology(), report().topology);
  ASSERT_TRUE(record.stop(false));
  EXPECT_EQ(store_->trials(study_.id, TrialDetail::summary)->size(), 1U) << "it may still run";
  ASSERT_TRUE(record.finish(result(true)));
  EXPECT_TRUE(
      *store_->current_promotion(fingerprint(report().topology), fingerprint(report().workload)));
}

TEST_F(StudyRecordTest, AStoreThatFailsIsBadInput) {
  FaultyStore faulty(*store_, 2);
  auto record = this->record(faulty);
  const auto trial = finished(0, 7);
  ASSERT_TRUE(record.trial_started(0, trial.phase, trial.params));
  const auto kept = record.trial_finished(trial);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error(), as_bad_input(FaultyStore::fault()));
  EXPECT_EQ(kept.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(record.finished_trials(), 0);
}

TEST_F(StudyRecordTest, ALockOfTheStoreLosesNoTrialAndNoPromotion) {
  FaultyStore locked(*store_, 1'000);
  auto record = this->record(locked);
  std::vector<std::string> said;
  int tries = 0;
  record.wait_for_store({.say =
                             [&](const std::string& why, bool is_first) {
                               if (is_first) said.push_back(why);
                             },
                         .goes_on =
                             [&] {
                               locked.set_locked(++tries % 3 != 0);
                               return true;
                             }});
  auto trial = finished(0, 7);
  trial.outcome.report = report();
  locked.set_locked(true);
  ASSERT_TRUE(record.trial_started(0, trial.phase, trial.params));
  locked.set_locked(true);
  ASSERT_TRUE(record.trial_finished(trial));
  locked.set_locked(true);
  ASSERT_TRUE(record.finish(result(true)));
  EXPECT_EQ(tries, 9);
  EXPECT_EQ(said.size(), 3U) << "one line for each wait";
  EXPECT_THAT(said.front(), HasSubstr("the store is locked"));
  const auto rows = *store_->trials(study_.id, TrialDetail::with_measurements);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().value, 7);
  EXPECT_EQ(store_->promotions({})->size(), 1U);
}

TEST_F(StudyRecordTest, ALockIsGivenUpWhenItsCallerDoesSo) {
  FaultyStore locked(*store_, 1'000);
  auto record = this->record(locked);
  record.wait_for_store({.goes_on = [] { return false; }});
  locked.set_locked(true);
  const auto trial = finished(0, 7);
  const auto started = record.trial_started(0, trial.phase, trial.params);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::timed_out);
}

/// The answer of each call in turn is lost, before or behind what it does, as by a server that
/// starts again.
TEST_F(StudyRecordTest, ARestartOfTheServerLosesAndRepeatsNothing) {
  for (const FaultKind kind : {FaultKind::error, FaultKind::lost_answer}) {
    bool is_any_left = true;
    int calls = 0;
    for (int call = 1; is_any_left; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      store_ = open_store_in_memory();
      study_ = start_study(*store_, {definition_, {"job"}, "s", {.name = "work"}, {}})->study;
      FaultyStore faulty(*store_, call, kind);
      auto record = this->record(faulty);
      int pauses = 0, said = 0;
      record.wait_for_store({.say = [&](const std::string&, bool) { ++said; },
                             .goes_on = [] { return true; },
                             .pause = [&] { ++pauses; }});
      for (int number = 0; number < 2; ++number) {
        auto trial = finished(number, 7.0 + number);
        if (number == 0) trial.outcome.report = report();
        ASSERT_TRUE(record.trial_started(number, trial.phase, trial.params));
        ASSERT_TRUE(record.trial_finished(trial));
      }
      ASSERT_TRUE(record.finish(result(true)));
      const auto rows = *store_->trials(study_.id, TrialDetail::with_measurements);
      ASSERT_EQ(rows.size(), 2U);
      EXPECT_EQ(rows.front().value, 7);
      EXPECT_EQ(rows.back().value, 8);
      EXPECT_EQ(store_->promotions({})->size(), 1U);
      EXPECT_EQ(stored().state, StudyState::finished);
      EXPECT_EQ(pauses, faulty.has_failed() ? 1 : 0);
      EXPECT_EQ(said, pauses);
      is_any_left = faulty.has_failed();
      ++calls;
    }
    EXPECT_GT(calls, 8);
  }
}

TEST_F(StudyRecordTest, APromotionThatCannotBeKeptLeavesTheStudyToBeResumed) {
  FaultyStore faulty(*store_, 1);
  auto record = this->record(faulty);
  EXPECT_FALSE(record.finish(result(true)));
  EXPECT_EQ(stored().state, StudyState::running);
  EXPECT_TRUE(store_->promotions({})->empty());
}

}  // namespace
}  // namespace hocket
