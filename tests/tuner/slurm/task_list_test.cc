#include "tuner/slurm/task_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// As Slurm 22.05 prints it.
constexpr const char* kSqueue =
    "3|PENDING|0|0|N/A|7||Resources|\n"
    "2|RUNNING|0|1|N/A|9|n[1-2]|None|\n"
    "1|COMPLETING|0|1|2026-11-27T02:12:43|8|n1|None|\n"
    "0|FAILED|1792|0|N/A|10|n1|NonZeroExitCode|\n"
    "4|FAILED|9|0|N/A|11|n1|RaisedSignal:9(Killed)|\n"
    "5|CANCELLED|768|1|N/A|12|n1|None|\n"
    "N/A|RUNNING|0|0|N/A|13|n3|None|\n";

TEST(TaskListTest, SqueuesLinesAreTasks) {
  const auto tasks = tasks_from_squeue(kSqueue);
  ASSERT_TRUE(tasks) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 6U) << "a job without an array is left out";
  EXPECT_EQ(tasks->at(0), (SlurmTask{.index = 3,
                                     .state = SlurmState::pending,
                                     .state_text = "PENDING",
                                     .reason = "Resources",
                                     .job_id = "7"}));
  EXPECT_EQ(tasks->at(1), (SlurmTask{.index = 2,
                                     .state = SlurmState::running,
                                     .state_text = "RUNNING",
                                     .nodes = "n[1-2]",
                                     .restarts = 1,
                                     .job_id = "9"}));
  EXPECT_TRUE(tasks->at(2).is_being_preempted);
  EXPECT_EQ(tasks->at(3).exit, (SlurmExit{7, 0}));
  EXPECT_EQ(tasks->at(3).reason, "NonZeroExitCode");
  EXPECT_EQ(tasks->at(4).exit, (SlurmExit{0, 9}));
  EXPECT_EQ(tasks->at(5).exit, (SlurmExit{3, 0}));
  EXPECT_EQ(tasks_from_squeue("")->size(), 0U);
}

TEST(TaskListTest, AnExitMayBeStatusAndSignal) {
  EXPECT_EQ(tasks_from_squeue("0|FAILED|0:9|0|N/A|10|n1||\n")->at(0).exit, (SlurmExit{0, 9}));
  EXPECT_EQ(tasks_from_squeue("0|NODE_FAIL|4294967294|0|N/A|10|n1||\n")->at(0).exit, std::nullopt);
}

TEST(TaskListTest, LinesThatAreNoTasksAreErrors) {
  for (const char* const line :
       {"slurm_load_jobs error: Unable to contact slurm controller", "0|RUNNING|0|0|N/A|9|n1|",
        "0|RUNNING|0|0|N/A|9|n1|None|more|", "-1|RUNNING|0|0|N/A|9|n1|None|",
        "x|RUNNING|0|0|N/A|9|n1|None|", "0||0|0|N/A|9|n1|None|", "0|RUNNING|0|many|N/A|9|n1|None|",
        "0|RUNNING|0|0|N/A|9;rm|n1|None|", "99999999999|RUNNING|0|0|N/A|9|n1|None|"}) {
    const auto tasks = tasks_from_squeue(line);
    ASSERT_FALSE(tasks) << line;
    EXPECT_EQ(tasks.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(tasks.error().message, HasSubstr(line));
  }
}

TEST(TaskListTest, SacctsLinesAreTasks) {
  const auto tasks = tasks_from_sacct(
      "12_0|12|COMPLETED|0:0|n1\n"
      "12_1|13|CANCELLED by 1000|0:15|None assigned\n"
      "12_[2-3]|14|PENDING|0:0|None assigned\n"
      "15|15|RUNNING|0:0|n1\n");
  ASSERT_TRUE(tasks) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 2U);
  EXPECT_EQ(tasks->at(0), (SlurmTask{.index = 0,
                                     .state = SlurmState::completed,
                                     .state_text = "COMPLETED",
                                     .nodes = "n1",
                                     .exit = SlurmExit{0, 0},
                                     .job_id = "12"}));
  EXPECT_EQ(tasks->at(1).state, SlurmState::cancelled);
  EXPECT_EQ(tasks->at(1).exit, (SlurmExit{0, 15}));
  EXPECT_EQ(tasks->at(1).nodes, "");
  EXPECT_FALSE(tasks_from_sacct("Slurm accounting storage is disabled"));
  EXPECT_FALSE(tasks_from_sacct("12_x|12|COMPLETED|0:0|n1"));
}

TEST(TaskListTest, WordsAreStates) {
  EXPECT_EQ(slurm_state("TIMEOUT"), SlurmState::timed_out);
  EXPECT_EQ(slurm_state("DEADLINE"), SlurmState::timed_out);
  EXPECT_EQ(slurm_state("NODE_FAIL"), SlurmState::node_failed);
  EXPECT_EQ(slurm_state("BOOT_FAIL"), SlurmState::node_failed);
  EXPECT_EQ(slurm_state("OUT_OF_MEMORY"), SlurmState::out_of_memory);
  EXPECT_EQ(slurm_state("PREEMPTED"), SlurmState::preempted);
  EXPECT_EQ(slurm_state("CANCELLED by 0"), SlurmState::cancelled);
  EXPECT_EQ(slurm_state("CANCELLED+"), SlurmState::cancelled);
  EXPECT_EQ(slurm_state("CONFIGURING"), SlurmState::pending);
  EXPECT_EQ(slurm_state("SIGNALING"), SlurmState::running);
  EXPECT_EQ(slurm_state("SOMETHING_NEW"), SlurmState::other);
  EXPECT_FALSE(has_ended(SlurmState::other));
  EXPECT_FALSE(has_ended(SlurmState::completing));
  EXPECT_TRUE(has_ended(SlurmState::gone));
}

TEST(TaskListTest, DamagedTextIsReadOrRefused) {
  for (std::uint64_t seed = 0; seed < rounds(2000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto tasks = tasks_from_squeue(mutate(kSqueue, random));
    if (!tasks) continue;
    for (const SlurmTask& task : *tasks) ASSERT_GE(task.index, 0);
  }
}

}  // namespace
}  // namespace hocket
