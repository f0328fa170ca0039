// Tests the contract of TrialSource on a store and on a daemon that has one.

#include "archive/workers/trial_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "archive/studies/study_job.h"
#include "tests/archive/workers/opened_source.h"
#include "tests/archive/workers/shared_study.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

class TrialSourceTest : public ::testing::TestWithParam<SourceKind> {
 protected:
  TrialSourceTest() : source_(GetParam(), *study_.store) {}

  ClaimAnswer claim(std::optional<std::int64_t> time_left_ns = {}) {
    return must(source_->claim(study_.id(), {{"w", "h", 30 * kSecondNs}, time_left_ns}));
  }

  Trial ended(std::int64_t id, double value) {
    return {.id = id,
            .outcome = {.state = TrialState::complete,
                        .value = value,
                        .spread = 0.25,
                        .samples = {value},
                        .metrics = {{"iteration_ns", {1, 2}}},
                        .output = {.stdout_text = "out \xff", .stderr_text = std::string(2, '\0')}},
            .worker = "w"};
  }

  TrialRow offer(std::int64_t a, TrialPhase phase = TrialPhase::search) {
    return study_.offer({{"a", a}, {"b", std::int64_t{9}}}, phase);
  }

  void redefine(const std::function<void(StudyDefinition&)>& change) {
    change(study_.definition);
    must(study_.store->update_study(study_.id(), {.definition = to_json(study_.definition)}));
  }

  SharedStudy study_;
  OpenedSource source_;
};

INSTANTIATE_TEST_SUITE_P(Of, TrialSourceTest,
                         ::testing::Values(SourceKind::store, SourceKind::daemon),
                         [](const auto& tested) { return to_string(tested.param); });

TEST_P(TrialSourceTest, FindsStudiesOfWorkersByNameAndNumber) {
  const StudyRow found = must(source_->find("shared"));
  EXPECT_EQ(found.id, study_.id());
  EXPECT_EQ(found.name, "shared");
  EXPECT_EQ(found.state, StudyState::running);
  EXPECT_EQ(found.origin, StudyOrigin::tune);
  EXPECT_EQ(found.owner, study_.row().owner);
  EXPECT_EQ(found.command, study_.row().command);
  EXPECT_EQ(must(source_->find(std::to_string(study_.id()))).name, "shared");
  study_.end();
  EXPECT_EQ(must(source_->find("shared")).state, StudyState::finished);
  EXPECT_EQ(source_->find("none").error().code, ErrorCode::not_found);
  EXPECT_FALSE(source_->find("no/../such name"));
}

TEST_P(TrialSourceTest, RefusesStudiesThatNobodyOffers) {
  redefine([](StudyDefinition& definition) { definition.workers.reset(); });
  const auto alone = source_->find("shared");
  ASSERT_FALSE(alone);
  EXPECT_THAT(alone.error().message, HasSubstr("hocket tune --workers N"));
  must(study_.store->create_study({.name = "sent",
                                   .command = {"evil"},
                                   .definition = to_json(study_.definition),
                                   .owner = kWorkersOwner,
                                   .topology_id = {},
                                   .workload_id = {},
                                   .origin = StudyOrigin::http}));
  const auto sent = source_->find("sent");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(sent.error().message, HasSubstr("POST /v1/studies/sent/ask and /tell"));
}

TEST_P(TrialSourceTest, AClaimRenewsTheLeaseAndGivesTheNextTrial) {
  EXPECT_FALSE(claim().trial);
  ASSERT_EQ(study_.store->workers(study_.id())->size(), 1u);
  EXPECT_EQ(study_.store->workers(study_.id())->front().host, "h");
  const TrialRow offered = offer(2, TrialPhase::confirm);
  const ClaimAnswer answer = claim();
  ASSERT_TRUE(answer.trial);
  EXPECT_EQ(answer.study.id, study_.id());
  EXPECT_EQ(answer.study.name, "shared");
  EXPECT_EQ(answer.study.command, study_.row().command);
  EXPECT_EQ(answer.trial->id, offered.id);
  EXPECT_EQ(shown_number(*answer.trial), offered.number);
  EXPECT_EQ(answer.trial->phase, TrialPhase::confirm);
  EXPECT_EQ(to_json(answer.trial->params), offered.params);
  EXPECT_EQ(answer.definition, study_.definition);
  EXPECT_FALSE(answer.has_report);
  EXPECT_EQ(study_.trials()[0].worker, "w");
}

TEST_P(TrialSourceTest, AnEndIsKeptWholeAndMayBeRepeated) {
  const TrialRow trial = offer(2);
  claim();
  Trial end = ended(trial.id, 12.5);
  end.outcome.message = "a warning";
  for (int times = 0; times < 2; ++times) ASSERT_TRUE(source_->finish(study_.id(), end));
  const TrialRow stored = study_.trials()[0];
  EXPECT_EQ(stored.state, TrialState::complete);
  EXPECT_EQ(stored.value, 12.5);
  EXPECT_EQ(stored.spread, 0.25);
  EXPECT_EQ(stored.message, "a warning");
  EXPECT_EQ(stored.measurements, measurements_of(end.outcome));
  EXPECT_EQ(stored.worker, "w");
  EXPECT_EQ(study_.store->trial_output(trial.id).value(), end.outcome.output);

  end.outcome.value = 13;
  EXPECT_EQ(source_->finish(study_.id(), end).error().code, ErrorCode::invalid_argument);
}

TEST_P(TrialSourceTest, AnEndThatIsNotTheWorkersIsNotFound) {
  const TrialRow trial = offer(2);
  const Trial end = ended(trial.id, 1);
  EXPECT_EQ(source_->finish(study_.id(), end).error().code, ErrorCode::not_found) << "offered";
  must(study_.store->claim_trial(study_.id(), {"other", "h", kSecondNs}));
  EXPECT_EQ(source_->finish(study_.id(), end).error().code, ErrorCode::not_found) << "another's";
  EXPECT_EQ(study_.trials()[0].state, TrialState::running);
  EXPECT_EQ(source_->finish(study_.id(), ended(trial.id + 1, 1)).error().code,
            ErrorCode::not_found);
}

TEST_P(TrialSourceTest, TheFirstReportSaysWhatTheStudyIsOf) {
  const TrialRow trial = offer(2);
  claim();
  Trial end = ended(trial.id, 1);
  end.outcome.report.emplace();
  end.outcome.report->topology.world_size = 4;
  end.outcome.report->workload = {"reported", {{"w", 4}}};
  ASSERT_TRUE(source_->finish(study_.id(), end));
  EXPECT_EQ(topology_of(*study_.store, study_.row())->world_size, 4);
  EXPECT_EQ(workload_of(*study_.store, study_.row())->name, "reported");
  offer(3);
  EXPECT_TRUE(claim().has_report);
}

TEST_P(TrialSourceTest, SaysWhatAnAutomaticObjectiveMeansOnceATrialHasShownIt) {
  redefine([](StudyDefinition& definition) { definition.objective = *parse_objective("auto"); });
  const TrialRow first = offer(2);
  EXPECT_EQ(claim().definition->objective.kind, ObjectiveKind::automatic);
  ASSERT_TRUE(source_->finish(study_.id(), ended(first.id, 1)));
  offer(3);
  EXPECT_EQ(claim().definition->objective.kind, ObjectiveKind::report);
}

TEST_P(TrialSourceTest, TrialsThatMayEndEarlyGetTheSamplesOfTheBest) {
  redefine([](StudyDefinition& definition) { definition.end_trials_early = true; });
  for (const double value : {5.0, 3.0, 4.0}) {
    const TrialRow trial = offer(2);
    claim();
    ASSERT_TRUE(source_->finish(study_.id(), ended(trial.id, value)));
  }
  offer(3);
  EXPECT_EQ(claim().incumbent, (std::vector<double>{3}));
  must(source_->leave(study_.id(), "w"));
  redefine([](StudyDefinition& definition) { definition.end_trials_early = false; });
  EXPECT_TRUE(claim().incumbent.empty());
}

TEST_P(TrialSourceTest, GivesNoTrialWhereTheLongestSoFarWouldNotEndInTime) {
  const TrialRow trial = offer(2);
  EXPECT_TRUE(claim(0).trial) << "nothing is known yet";
  *study_.now_ns += 60 * kSecondNs;
  ASSERT_TRUE(source_->finish(study_.id(), ended(trial.id, 1)));
  offer(3);
  const ClaimAnswer answer = claim(40 * kSecondNs);
  EXPECT_FALSE(answer.trial);
  EXPECT_GT(answer.longest_trial_ns, 59 * kSecondNs);
  EXPECT_TRUE(study_.trials()[1].is_offered);
  EXPECT_TRUE(claim(80 * kSecondNs).trial);
}

TEST_P(TrialSourceTest, GivesNoTrialOfAStudyThatHasEnded) {
  offer(2);
  study_.end(StudyState::interrupted);
  const ClaimAnswer answer = claim();
  EXPECT_FALSE(answer.trial);
  EXPECT_EQ(answer.study.state, StudyState::interrupted);
  EXPECT_EQ(answer.study.name, "shared");
  EXPECT_TRUE(study_.trials()[0].is_offered);
}

TEST_P(TrialSourceTest, ALeaseIsRenewedAndGivenBackWithoutALoss) {
  offer(2);
  claim();
  const auto until_ns = [&] { return study_.trials()[0].lease_until_ns.value(); };
  const std::int64_t first_ns = until_ns();
  *study_.now_ns += 20 * kSecondNs;
  ASSERT_TRUE(source_->renew(study_.id(), {"w", "h", 30 * kSecondNs}));
  EXPECT_GE(until_ns(), first_ns + 20 * kSecondNs);
  ASSERT_TRUE(source_->leave(study_.id(), "w"));
  EXPECT_TRUE(study_.trials()[0].is_offered);
  EXPECT_EQ(study_.trials()[0].losses, 0);
  EXPECT_TRUE(study_.store->workers(study_.id())->empty());
}

TEST_P(TrialSourceTest, ARemovedStudyIsNotFound) {
  const TrialRow trial = offer(2);
  claim();
  const StudyRow row = study_.row();
  must(study_.store->remove_study(row.id, row.owner, "test"));
  const NewClaim lease{"w", "h", 30 * kSecondNs};
  EXPECT_EQ(source_->claim(row.id, {lease}).error().code, ErrorCode::not_found);
  EXPECT_EQ(source_->renew(row.id, lease).error().code, ErrorCode::not_found);
  EXPECT_EQ(source_->leave(row.id, "w").error().code, ErrorCode::not_found);
  EXPECT_EQ(source_->finish(row.id, ended(trial.id, 1)).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace hocket
