#include "tuner/slurm/task_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/odd_files.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

std::string path_of(const std::string& output, std::vector<std::string> options = {}) {
  SlurmSubmission submission;
  submission.output = output;
  submission.job_name = "hocket-s";
  submission.options = std::move(options);
  SlurmTask task;
  task.index = 3;
  task.job_id = "15";
  return slurm_log_path(submission, "12", task).value_or("nothing");
}

TEST(TaskLogTest, PatternsAreReplacedAsSbatchDoes) {
  EXPECT_EQ(path_of("/logs/%A_%a.log"), "/logs/12_3.log");
  EXPECT_EQ(path_of("%x-%j-%4a-%%"), "hocket-s-15-0003-%");
  EXPECT_EQ(path_of("%99999999999a"), "0000000003") << "sbatch allows ten";
  EXPECT_EQ(path_of("%N.log"), "nothing") << "the host's name is the node's";
  EXPECT_EQ(path_of("x%"), "nothing");
  EXPECT_EQ(path_of("x%9"), "nothing");
  EXPECT_EQ(path_of(""), "nothing");
}

TEST(TaskLogTest, TheUsersOptionsWin) {
  EXPECT_EQ(path_of("/logs/%A", {"-o", "%x_%a", "--job-name=mine", "-D", "/jobs"}), "/jobs/mine_3");
  EXPECT_EQ(path_of("/logs/%A", {"--chdir=/jobs"}), "/logs/12") << "an absolute path stays";
}

TEST(TaskLogTest, TheEndOfALogIsRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(slurm_log_end(folder.file("none")), "");
  EXPECT_EQ(slurm_log_end(folder.write("short", "a\nb\n")), "a\nb\n");
  EXPECT_EQ(slurm_log_end(folder.write("empty", "")), "");
  EXPECT_EQ(slurm_log_end(folder.write("long", std::string(9000, 'a') + "b")),
            std::string(4095, 'a') + "b");
  EXPECT_EQ(slurm_log_end(folder.path()), "");
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(slurm_log_end(folder.file("pipe")), "") << "and does not wait";
}

TEST(TaskLogTest, SlurmsLastLineGivesTheCause) {
  const auto line = [](const std::string& cause) {
    return "slurmstepd-n1: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-27T02:12:43 DUE TO " +
           cause + " ***\n";
  };
  EXPECT_EQ(slurm_cause("step 1\n" + line("PREEMPTION") + "ended\n"), "was preempted");
  EXPECT_EQ(slurm_cause(line("PREEMPTION") + line("JOB REQUEUE")), "was requeued");
  EXPECT_EQ(slurm_cause(line("NODE FAILURE")), "lost its node");
  EXPECT_EQ(slurm_cause(line("TIME LIMIT")), "ran out of time");
  EXPECT_EQ(slurm_cause(line("SOMETHING")), "");
  EXPECT_EQ(slurm_cause("stopped DUE TO PREEMPTION of mine\n"), "");
  EXPECT_EQ(slurm_cause(line("PREEMPTION") + "stopped DUE TO PREEMPTION of mine\n"), "");
  EXPECT_EQ(slurm_cause(""), "");
}

TEST(TaskLogTest, WhatIsNoFileIsNotWaitedFor) {
  const TemporaryFolder folder;
  const std::string path = folder.file("odd");
  for_odd_files(
      path, [&] { (void)slurm_log_end(path); },
      [&](const OddFile& odd, bool ended) {
        EXPECT_TRUE(ended) << odd.kind;
        EXPECT_EQ(slurm_log_end(path), "") << odd.kind;
      });
}

}  // namespace
}  // namespace hocket
