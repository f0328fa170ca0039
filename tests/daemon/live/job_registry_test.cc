#include "daemon/live/job_registry.h"

#include <gtest/gtest.h>

#include "tests/store/fixtures.h"

namespace hocket {
namespace {

JobDescription job(const std::string& id, int world_size = 2) {
  JobDescription description{.id = id};
  description.topology = sample_topology(world_size);
  description.workload = sample_workload();
  return description;
}

void remove(JobRegistry& jobs, const std::string& id) {
  jobs.remove(jobs.find(id)->number, 7);
}

TEST(JobRegistry, RefusesJobsWhenItIsFullAndTakesThemWhenSomeHaveEnded) {
  JobRegistry jobs(MemoryLimits{.jobs = 2});
  must(jobs.enter(job("a"), 1));
  must(jobs.enter(job("b"), 1));
  EXPECT_EQ(code_of(jobs.enter(job("c"), 1)), ErrorCode::unavailable);
  must(jobs.enter(job("a"), 2));  // again
  remove(jobs, "b");
  must(jobs.enter(job("c"), 2));
  EXPECT_EQ(jobs.size(), 2u);
}

TEST(JobRegistry, BoundsTheBytesOfDescriptions) {
  JobRegistry jobs(MemoryLimits{.job_bytes = 100});
  must(jobs.enter(job("a"), 1, 60));
  EXPECT_EQ(code_of(jobs.enter(job("b"), 1, 50)), ErrorCode::unavailable);
  EXPECT_EQ(code_of(jobs.enter(job("a"), 1, 101)), ErrorCode::unavailable);
  must(jobs.enter(job("a"), 1, 50));
  must(jobs.enter(job("b"), 1, 50));
  EXPECT_EQ(code_of(jobs.enter(job("c"), 1, 1)), ErrorCode::unavailable);
  EXPECT_EQ(jobs.remove_silent(kJobSilenceNs + 2).size(), 2u);
  must(jobs.enter(job("c"), 1, 100));
}

TEST(JobRegistry, KeepsWhatBecameOfTheLastJobsThatEnded) {
  JobRegistry jobs;
  must(jobs.enter(job("silent"), 1));
  must(jobs.enter(job("a"), 1));
  const ChangeOutcome kept{.trial = 1, .status = ChangeStatus::applied, .candidate_ns = {4}},
      back{.trial = 2, .status = ChangeStatus::rolled_back, .candidate_ns = {9}},
      refused{.trial = 3, .status = ChangeStatus::rejected},
      pushed{.version = 5, .status = ChangeStatus::applied, .candidate_ns = {4}};
  ASSERT_TRUE(jobs.report({.job = "a",
                           .version = 5,
                           .step = 60,
                           .iteration_ns = {6, 8, 7},
                           .outcomes = {kept, back, refused, pushed},
                           .explored = 0.25,
                           .values = {{"own_cost_percent", 0.5}}},
                          2));
  EXPECT_TRUE(jobs.ended().empty());
  remove(jobs, "a");
  ASSERT_EQ(jobs.ended().size(), 1U);
  const EndedJob ended = jobs.ended().front();
  EXPECT_EQ(ended.id, "a");
  EXPECT_EQ(ended.ended_at_ns, 7);
  EXPECT_FALSE(ended.was_silent);
  EXPECT_EQ(ended.version, 5);
  EXPECT_EQ(ended.step, 60);
  EXPECT_EQ(ended.tried, 2);
  EXPECT_EQ(ended.kept, 1);
  EXPECT_EQ(ended.iteration_ns, 7);
  EXPECT_EQ(ended.explored, 0.25);
  EXPECT_EQ(ended.values.at("own_cost_percent"), 0.5);
  jobs.remove_silent(kJobSilenceNs + 2);
  ASSERT_EQ(jobs.ended().size(), 2U);
  EXPECT_EQ(jobs.ended().front().id, "silent") << "the latest first";
  EXPECT_TRUE(jobs.ended().front().was_silent);
  for (std::size_t i = 0; i < kKeptEndedJobs; ++i) {
    must(jobs.enter(job("b"), 1));
    remove(jobs, "b");
  }
  EXPECT_EQ(jobs.ended().size(), kKeptEndedJobs);
  EXPECT_EQ(jobs.ended().back().id, "b");
}

TEST(JobRegistry, KeepsWhatAJobMeasuredItself) {
  JobRegistry jobs;
  must(jobs.enter(job("a"), 1));
  EXPECT_TRUE(jobs.report({.job = "a", .values = {{"transfer_us", 3}}, .note = "ring"}, 2));
  EXPECT_TRUE(jobs.report({.job = "a"}, 3));
  const RunningJob known = jobs.list().at(0);
  EXPECT_EQ(known.values.at("transfer_us"), 3);
  EXPECT_EQ(known.note, "ring");
}

TEST(JobRegistry, KeepsTheLatestOfWhatRanksCounted) {
  JobRegistry jobs(MemoryLimits{.job_counters = 1000});
  must(jobs.enter(job("a"), 1));
  must(jobs.enter(job("b"), 1));
  const auto counted = [](std::int64_t step, std::size_t ranks) {
    return CountedSteps{.step = step, .ranks = std::vector<RankCounters>(ranks)};
  };
  for (std::int64_t step = 0; step < 300; ++step)
    EXPECT_TRUE(jobs.report({.job = "a", .counted = {counted(step, 2)}}, 2));
  EXPECT_EQ(jobs.counted("a").size(), kJobCountedSteps);
  EXPECT_EQ(jobs.counted("a").back().step, 299);
  EXPECT_TRUE(jobs.report({.job = "b", .counted = {counted(1, 300), counted(2, 400)}}, 2));
  ASSERT_EQ(jobs.counted("b").size(), 1u) << "jobs together keep no more";
  EXPECT_EQ(jobs.counted("b")[0].step, 2);
  remove(jobs, "a");
  EXPECT_TRUE(jobs.report({.job = "b", .counted = {counted(3, 500)}}, 2));
  EXPECT_EQ(jobs.counted("b").size(), 2u) << "the job that is gone has left room";
  EXPECT_TRUE(jobs.counted("c").empty());
}

TEST(JobRegistry, BoundsTheKeysOfJobs) {
  JobRegistry jobs(MemoryLimits{.job_keys = 1});
  must(jobs.enter(job("a"), 1));
  must(jobs.enter(job("b"), 1));
  EXPECT_EQ(code_of(jobs.enter(job("c", 4), 1)), ErrorCode::unavailable);
  remove(jobs, "a");
  remove(jobs, "b");
  must(jobs.enter(job("c", 4), 1));
}

TEST(JobRegistry, KeepsTheLatestIterationsAndChanges) {
  JobRegistry jobs;
  must(jobs.enter(job("a"), 1));
  std::int64_t next = 0;
  for (int report = 1; report <= 30; ++report) {
    JobReport values{.job = "a"};
    for (int i = 0; i < report % 7; ++i) values.iteration_ns.push_back(++next);
    ChangeOutcome outcome{.trial = report};
    outcome.message = std::string(1000, 'x');
    outcome.current_ns = {3, 1, 2};
    values.outcomes = {outcome};
    EXPECT_TRUE(jobs.report(values, report));
  }
  const RunningJob known = jobs.list().at(0);
  ASSERT_EQ(known.history_ns.size(), kJobHistory);
  EXPECT_EQ(known.history_ns.front(), next - std::ssize(known.history_ns) + 1);
  EXPECT_EQ(known.history_ns.back(), next);
  ASSERT_EQ(known.changes.size(), kJobChanges);
  EXPECT_EQ(known.changes.front().trial, 30 - std::ssize(known.changes) + 1);
  EXPECT_EQ(known.changes.back().trial, 30);
  EXPECT_EQ(known.changes.back().at_ns, 30);
  EXPECT_EQ(known.changes.back().message.size(), kJobChangeTextBytes);
  EXPECT_EQ(known.changes.back().current_ns, 2);
  EXPECT_EQ(known.changes.back().candidate_ns, std::nullopt);

  JobReport many{.job = "a"};
  many.iteration_ns.assign(1000, 5);
  EXPECT_TRUE(jobs.report(many, 31));
  EXPECT_EQ(jobs.list().at(0).history_ns, std::vector<std::int64_t>(kJobHistory, 5));
}

TEST(JobRegistry, AStreamOfAnEarlierRegistrationChangesNothing) {
  for (const bool has_other_key : {false, true}) {
    JobRegistry jobs;
    must(jobs.enter(job("a"), 1));
    const auto old = jobs.stream_opened("a", 1);
    ASSERT_TRUE(old);
    EXPECT_FALSE(*old->has_ended);
    if (!has_other_key) jobs.end(old->job.number);
    const auto entered = must(jobs.enter(job("a", has_other_key ? 4 : 2), 2));
    EXPECT_EQ(entered.ended.has_value(), has_other_key);
    EXPECT_TRUE(*old->has_ended) << "its stream should end";
    EXPECT_FALSE(jobs.find("a")->is_connected());
    const auto present = jobs.stream_opened("a", 2);
    ASSERT_TRUE(present);
    EXPECT_TRUE(jobs.stream_closed(old->job.number, 3));
    EXPECT_TRUE(jobs.find("a")->is_connected());
    EXPECT_FALSE(*present->has_ended);
    EXPECT_EQ(jobs.registrations(), 2u) << "its last report may not have been processed";
    jobs.remove(old->job.number, 7);
    EXPECT_FALSE(jobs.stream_closed(old->job.number, 3));
    EXPECT_EQ(jobs.find("a")->number, present->job.number);
  }
}

TEST(JobRegistry, DescribedAgainAJobKeepsItsStreams) {
  JobRegistry jobs;
  must(jobs.enter(job("a"), 1));
  const auto stream = jobs.stream_opened("a", 1);
  ASSERT_TRUE(stream);
  EXPECT_EQ(must(jobs.enter(job("a"), 2)).job.number, stream->job.number);
  EXPECT_TRUE(jobs.find("a")->is_connected());
}

TEST(JobRegistry, WhatHasEndedTakesRoomUntilItIsRemoved) {
  JobRegistry jobs(MemoryLimits{.jobs = 2, .job_bytes = 100});
  must(jobs.enter(job("a"), 1, 40));
  must(jobs.enter(job("a", 4), 1, 40));
  EXPECT_EQ(jobs.size(), 1u);
  EXPECT_EQ(code_of(jobs.enter(job("a"), 1, 1)), ErrorCode::unavailable);
  EXPECT_EQ(jobs.remove_silent(1 + kJobSilenceNs).size(), 0u);
  EXPECT_EQ(jobs.remove_silent(2 + kJobSilenceNs).size(), 2u);
  EXPECT_EQ(jobs.registrations(), 0u);
  must(jobs.enter(job("a"), 1, 100));
}

TEST(JobRegistry, ItsRevisionRisesWithEachChange) {
  JobRegistry jobs;
  auto last = jobs.revision();
  const auto rises = [&] { return std::exchange(last, jobs.revision()) < jobs.revision(); };
  must(jobs.enter(job("a"), 1));
  EXPECT_TRUE(rises());
  EXPECT_FALSE(rises());
  EXPECT_TRUE(jobs.report({.job = "a"}, 2));
  EXPECT_TRUE(rises());
  EXPECT_FALSE(jobs.report({.job = "b"}, 2));
  EXPECT_FALSE(rises());
  EXPECT_TRUE(jobs.stream_opened("a", 2));
  EXPECT_TRUE(rises());
  const std::uint64_t number = jobs.find("a")->number;
  EXPECT_TRUE(jobs.stream_closed(number, 2));
  EXPECT_TRUE(rises());
  jobs.runs_with(number, {}, 3);
  EXPECT_TRUE(rises());
  jobs.end(number);
  EXPECT_TRUE(rises());
}

}  // namespace
}  // namespace hocket
