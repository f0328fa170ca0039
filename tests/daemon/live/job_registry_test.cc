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

TEST(JobRegistry, RefusesJobsWhenItIsFullAndTakesThemWhenSomeHaveEnded) {
  JobRegistry jobs(MemoryLimits{.jobs = 2});
  must(jobs.enter(job("a"), 1));
  must(jobs.enter(job("b"), 1));
  EXPECT_EQ(code_of(jobs.enter(job("c"), 1)), ErrorCode::unavailable);
  must(jobs.enter(job("a"), 2));  // again
  jobs.remove("b");
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
  jobs.remove("a");
  EXPECT_TRUE(jobs.report({.job = "b", .counted = {counted(3, 500)}}, 2));
  EXPECT_EQ(jobs.counted("b").size(), 2u) << "the job that is gone has left room";
  EXPECT_TRUE(jobs.counted("c").empty());
}

TEST(JobRegistry, BoundsTheKeysOfJobs) {
  JobRegistry jobs(MemoryLimits{.job_keys = 1});
  must(jobs.enter(job("a"), 1));
  must(jobs.enter(job("b"), 1));
  EXPECT_EQ(code_of(jobs.enter(job("c", 4), 1)), ErrorCode::unavailable);
  jobs.remove("a");
  jobs.remove("b");
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
  EXPECT_TRUE(jobs.stream_closed("a", 2));
  EXPECT_TRUE(rises());
  jobs.runs_with("a", {}, 3);
  EXPECT_TRUE(rises());
  jobs.remove("a");
  EXPECT_TRUE(rises());
}

}  // namespace
}  // namespace hocket
