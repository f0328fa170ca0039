// Tests of what becomes of a version by the answers of running jobs, and by what they say that they
// can run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/daemon/live/live_tuning_fixture.h"

namespace hocket {
namespace {

using testing::HasSubstr;

ScheduleConfig with_static_order() {
  ScheduleConfig config;
  config.order = CollectiveOrder::static_order;
  return config;
}

/// A job that has parts and two orders, of which it can change the parts while it runs.
RunnableValues without_static() {
  RunnableValues can_run;
  can_run.start = {{"order", {.words = {"fifo", "negotiated"}}}, {"partition_bytes", KnobValues{}}};
  return can_run;
}

class LiveAnswersTest : public LiveTuningTest {
 protected:
  std::string reason_of(std::int64_t version) {
    for (const AuditRow& row : must(store_->audit({}))) {
      if (row.action == "set_stage" && row.detail["version"] == version) return row.detail["note"];
    }
    return {};
  }
};

TEST_F(LiveAnswersTest, WhatTheOnlyJobRejectedReachesNoJobAtAll) {
  auto& job = add_job("a", 0);
  job.refuses = true;
  const auto version = push(with_static_order());
  run(3);
  EXPECT_EQ(job.versions, std::vector{version});
  EXPECT_EQ(stage_of(version), PromotionStage::held);
  EXPECT_EQ(reason_of(version), "job a rejected it: a rank refused it");
  EXPECT_EQ(resolve()["match"], "none");
  EXPECT_TRUE(quarantine().empty()) << "nothing was measured";
  auto& next = add_job("b", 0);
  run(3);
  EXPECT_TRUE(next.versions.empty());
}

TEST_F(LiveAnswersTest, APushIsToldWhenNoRunningJobCanChangeToIt) {
  const auto answer_to = [&](const ScheduleConfig& config) {
    return daemon_->ask("PUT", "/v1/configs/" + sample_key(), {{"config", to_json(config)}});
  };
  add_job("a", 0, time_of, without_static());
  EXPECT_THAT(answer_to(with_static_order())["no_job_can_change"],
              HasSubstr("job a: order=static: the job can start with fifo"));
  EXPECT_FALSE(answer_to(with_parts(1 << 20)).contains("no_job_can_change"));
  add_job("b", 0);
  EXPECT_FALSE(answer_to(with_static_order()).contains("no_job_can_change"));
}

TEST_F(LiveAnswersTest, APushOfAKnobThatTheJobDoesNotDeclareIsRefused) {
  JobDescription description = sample_job("a", 0);
  description.workload.knobs = {
      {.name = "depth", .low = 0, .high = 3, .default_value = std::int64_t{1}}};
  const std::string key =
      to_string({fingerprint(description.topology), fingerprint(description.workload)});
  jobs_.push_back(std::make_unique<SimulatedJob>(description, time_of));
  jobs_.back()->connect(*daemon_, key);
  const auto answer_to = [&](const std::string& name, std::int64_t value) {
    ScheduleConfig config;
    config.job[name] = value;
    const nlohmann::json body = {{"config", to_json(config)}};
    return *daemon_->call("PUT", "/v1/configs/" + key, body.dump()).body;
  };
  EXPECT_THAT(answer_to("depth", 2), HasSubstr("staged"));
  EXPECT_THAT(answer_to("depth", 4), HasSubstr("knob job.depth: expected an integer from 0 to 3"));
  EXPECT_THAT(answer_to("dept", 2), HasSubstr("no such knob; it declares job.depth"));
}

TEST_F(LiveAnswersTest, AJobIsNotGivenWhatItSaysItCannotRun) {
  auto& job = add_job("a", 0, time_of, without_static());
  const auto version = push(with_static_order());
  run(3);
  EXPECT_TRUE(job.versions.empty());
  EXPECT_EQ(stage_of(version), PromotionStage::held);
  EXPECT_THAT(reason_of(version), HasSubstr("order=static: the job can start with fifo"));
}

TEST_F(LiveAnswersTest, OneThatCanRunItTriesItAndTheOthersAreLeftAlone) {
  auto& cannot = add_job("a", 0, time_of, without_static());
  auto& can = add_job("b", 0);
  const auto version = push(with_static_order());
  run(3);
  EXPECT_EQ(can.version(), version);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_TRUE(cannot.versions.empty());
  cannot.connect(*daemon_);
  run(1);
  EXPECT_TRUE(cannot.versions.empty()) << "after it has connected again";
  const auto next = push(1 << 20);
  run(3);
  EXPECT_EQ(cannot.version(), next);
}

TEST_F(LiveAnswersTest, AJobThatTakesItsConfigurationWhenItStartsIsNotAskedToChange) {
  RunnableValues at_start;
  at_start.running.emplace();
  JobDescription description = sample_job("a", 0);
  description.knobs.clear();
  description.can_run = at_start;
  jobs_.push_back(std::make_unique<SimulatedJob>(description, time_of));
  jobs_.back()->connect(*daemon_);
  const auto version = push(1 << 20);
  run(2);
  EXPECT_TRUE(jobs_[0]->versions.empty());
  EXPECT_EQ(stage_of(version), PromotionStage::released);
  EXPECT_EQ(resolve(at_start)["version"], version);
}

TEST_F(LiveAnswersTest, AJobStartsWithTheNewestVersionThatItCanRun) {
  const RunnableValues can_run = without_static();
  auto& job = add_job("a", 0);
  const auto good = push(1 << 20);
  run(3);
  ScheduleConfig in_order = with_parts(1 << 20);
  in_order.order = CollectiveOrder::static_order;
  const auto fixed = push(in_order);
  run(3);
  ASSERT_EQ(job.version(), fixed);
  EXPECT_EQ(resolve()["version"], good) << "a job that does not say gets no static order";
  const auto answer = resolve(can_run);
  EXPECT_EQ(answer["version"], good);
  EXPECT_THAT(answer["passed_over"].dump(), HasSubstr("order=static"));
  RunnableValues all = can_run;
  all.start->at("order").words.emplace_back("static");
  EXPECT_EQ(resolve(all)["version"], fixed);
  RunnableValues none;
  none.start.emplace();
  EXPECT_EQ(resolve(none)["match"], "none");
  EXPECT_EQ(resolve(none)["passed_over"].size(), 2U);
}

TEST_F(LiveAnswersTest, AJobThatDoesNotSayStartsWithWhatAStudyMeasured) {
  must(store_->upsert_topology(sample_topology()));
  must(store_->upsert_workload(sample_workload()));
  const auto study = must(store_->create_study(sample_study()));
  const auto row = must(store_->promote({.topology_id = 1,
                                         .workload_id = 1,
                                         .study_id = study.id,
                                         .config = to_json(with_static_order())}));
  EXPECT_EQ(resolve()["version"], row.id);
  EXPECT_EQ(resolve(without_static())["match"], "none");
}

TEST_F(LiveAnswersTest, ARejectionDoesNotTakeBackWhatAStudyMeasured) {
  auto& job = add_job("a", 0);
  job.refuses = true;
  const auto study = must(store_->create_study(sample_study()));
  const auto row = must(store_->promote({.topology_id = 1,
                                         .workload_id = 1,
                                         .study_id = study.id,
                                         .config = to_json(with_parts(1 << 20))}));
  run(3);
  EXPECT_EQ(job.versions, std::vector{row.id});
  EXPECT_EQ(stage_of(row.id), PromotionStage::released);
  EXPECT_EQ(count_audit("hold"), 1);
  auto& other = add_job("b", 0);
  run(3);
  EXPECT_TRUE(other.versions.empty()) << "running jobs are not given it";
}

TEST_F(LiveAnswersTest, ACanaryThatIsGoneLeavesTheVersionToTheNext) {
  auto& canary = add_job("a", 0);
  canary.ignores = true;
  const auto version = push(1 << 20);
  run(1);
  canary.disconnect();
  jobs_.clear();
  daemon_->tick(91);
  EXPECT_EQ(stage_of(version), PromotionStage::staged);
  EXPECT_EQ(resolve()["match"], "none");
  add_job("b", 0);
  run(3);
  EXPECT_EQ(stage_of(version), PromotionStage::released);
}

TEST_F(LiveAnswersTest, AJobThatEndsBeforeItCouldTryItHasNotRejectedIt) {
  auto& canary = add_job("a", 0);
  const auto version = push(1 << 20);
  daemon_->settle();
  canary.end();
  jobs_.clear();
  daemon_->tick();
  EXPECT_EQ(stage_of(version), PromotionStage::released);
}

TEST_F(LiveAnswersTest, TheSearchProposesOnlyWhatTheJobCanRun) {
  RunnableValues can_run;
  can_run.start = {{"partition_bytes", {.low = 1 << 20, .high = 8 << 20}}};
  auto& job = add_job("a", 0.1, time_of, can_run);
  run(20);
  ASSERT_FALSE(job.offered.empty());
  for (const CandidateMessage& candidate : job.offered) {
    EXPECT_GE(candidate.config.partition_bytes, 1 << 20);
    EXPECT_LE(candidate.config.partition_bytes, 8 << 20);
  }
}

TEST_F(LiveAnswersTest, AResumedSearchProposesOnlyWhatTheNextJobCanRun) {
  auto& first = add_job("a");
  run(2);
  ASSERT_FALSE(first.offered.empty());
  first.end();
  jobs_.clear();
  daemon_->tick();
  RunnableValues can_run;
  can_run.start = {{"partition_bytes", {.low = 2 << 20, .high = 16 << 20}}};
  auto& next = add_job("b", 0.1, time_of, can_run);
  run(20);
  EXPECT_EQ(studies().size(), 1U);
  for (const CandidateMessage& candidate : next.offered) {
    EXPECT_GE(candidate.config.partition_bytes, 2 << 20);
    EXPECT_LE(candidate.config.partition_bytes, 16 << 20);
  }
}

}  // namespace
}  // namespace hocket
