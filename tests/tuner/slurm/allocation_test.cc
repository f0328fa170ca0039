#include "tuner/slurm/allocation.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/scoped_environment.h"
#include "tests/set_clock.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

constexpr std::int64_t kSlurmSecondNs = 1'000'000'000;

SlurmEnvironment with(std::map<std::string, std::string> variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(AllocationTest, AWorkerIsNamedAfterItsTaskAndRun) {
  EXPECT_EQ(slurm_worker_name("12", 0), "slurm-12_0");
  EXPECT_EQ(slurm_worker_name("12", 3, 2), "slurm-12_3.2");
  std::map<std::string, std::string> variables = {{"SLURM_JOB_ID", "15"},
                                                  {"SLURM_ARRAY_JOB_ID", "12"},
                                                  {"SLURM_ARRAY_TASK_ID", "3"},
                                                  {"ENVIRONMENT", "BATCH"}};
  EXPECT_EQ(slurm_worker_name(with(variables)), "slurm-12_3");
  variables["SLURM_RESTART_COUNT"] = "2";
  EXPECT_EQ(slurm_worker_name(with(variables)), slurm_worker_name("12", 3, 2));
  variables.erase("SLURM_ARRAY_JOB_ID");
  EXPECT_EQ(slurm_worker_name(with(variables)), "slurm-15.2");
  variables.erase("SLURM_RESTART_COUNT");
  EXPECT_EQ(slurm_worker_name(with(variables)), "slurm-15");
}

TEST(AllocationTest, ProcessesOfStepsAndOutsideAreNoWorkers) {
  EXPECT_EQ(slurm_worker_name(with({})), std::nullopt);
  EXPECT_EQ(slurm_worker_name(with({{"SLURM_JOB_ID", "15"}})), std::nullopt) << "salloc";
  EXPECT_EQ(slurm_worker_name(
                with({{"SLURM_JOB_ID", "15"}, {"ENVIRONMENT", "BATCH"}, {"SLURM_STEP_ID", "0"}})),
            std::nullopt);
  EXPECT_EQ(slurm_worker_name(with({{"SLURM_JOB_ID", "x/y"}, {"ENVIRONMENT", "BATCH"}})),
            std::nullopt);
}

TEST(AllocationTest, DurationsAreReadAsSqueuePrintsThem) {
  EXPECT_EQ(slurm_duration_ns("0:55\n"), 55 * kSlurmSecondNs);
  EXPECT_EQ(slurm_duration_ns("2:03:04"), 7384 * kSlurmSecondNs);
  EXPECT_EQ(slurm_duration_ns("1-02:03:04"), 93'784 * kSlurmSecondNs);
  for (const char* const text : {"", "UNLIMITED", "NOT_SET", "INVALID", "5", "1-2:3", "-1:00", "1:",
                                 ":1", "1:2:3:4", "1--2:03:04", "99999999999-00:00:00", "0:5x"}) {
    EXPECT_EQ(slurm_duration_ns(text), std::nullopt) << text;
  }
}

TEST(AllocationTest, TheEndOfAnAllocationIsInItsEnvironment) {
  const SetClock clock;
  const auto ends = [&](const char* end) {
    return slurm_time_left_ns(with({{"SLURM_JOB_ID", "15"}, {"SLURM_JOB_END_TIME", end}}),
                              1'000 * kSlurmSecondNs + 1, clock);
  };
  EXPECT_EQ(ends("1060"), 60 * kSlurmSecondNs - 1);
  EXPECT_EQ(ends("900"), 0);
  EXPECT_EQ(slurm_time_left_ns(with({{"SLURM_JOB_END_TIME", "1060"}}), 0, clock), std::nullopt);
}

TEST(AllocationTest, OtherwiseSqueueKnowsTheEnd) {
  const TemporaryFolder folder;
  const std::string squeue =
      folder.write("squeue", "#!/bin/sh\necho \"$@\" > \"$0.asked\"\ncat \"$0.answer\"\n");
  std::filesystem::permissions(squeue, std::filesystem::perms(0755));
  const ScopedEnvironment path("PATH", (folder.path().string() + ":/usr/bin:/bin").c_str());
  const SteadyClock clock;
  folder.write("squeue.answer", "1:00\n");
  EXPECT_EQ(slurm_time_left_ns(with({{"SLURM_JOB_ID", "15"}}), 0, clock), 60 * kSlurmSecondNs);
  const auto in_array =
      with({{"SLURM_JOB_ID", "15"}, {"SLURM_ARRAY_JOB_ID", "12"}, {"SLURM_ARRAY_TASK_ID", "3"}});
  EXPECT_EQ(slurm_time_left_ns(in_array, 0, clock), 60 * kSlurmSecondNs);
  std::ifstream asked(folder.file("squeue.asked"));
  std::string words;
  std::getline(asked, words);
  EXPECT_NE(words.find("--jobs=12_3 "), std::string::npos) << words;
  folder.write("squeue.answer", "UNLIMITED\n");
  EXPECT_EQ(slurm_time_left_ns(in_array, 0, clock), std::nullopt);
}

}  // namespace
}  // namespace hocket
