#include "tuner/daemon/live/job_registry.h"

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
  JobRegistry jobs(StateLimits{.jobs = 2});
  must(jobs.enter(job("a"), 1));
  must(jobs.enter(job("b"), 1));
  EXPECT_EQ(code_of(jobs.enter(job("c"), 1)), ErrorCode::unavailable);
  must(jobs.enter(job("a"), 2));  // again
  jobs.remove("b");
  must(jobs.enter(job("c"), 2));
  EXPECT_EQ(jobs.size(), 2u);
}

TEST(JobRegistry, BoundsTheBytesOfDescriptions) {
  JobRegistry jobs(StateLimits{.job_bytes = 100});
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

TEST(JobRegistry, BoundsTheKeysOfJobs) {
  JobRegistry jobs(StateLimits{.job_keys = 1});
  must(jobs.enter(job("a"), 1));
  must(jobs.enter(job("b"), 1));
  EXPECT_EQ(code_of(jobs.enter(job("c", 4), 1)), ErrorCode::unavailable);
  jobs.remove("a");
  jobs.remove("b");
  must(jobs.enter(job("c", 4), 1));
}

}  // namespace
}  // namespace hocket
