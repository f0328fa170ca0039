#include "tuner/slurm/slurm_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SlurmSubmission some_submission() {
  SlurmSubmission submission;
  submission.options = {"--nodes", "4", "--no-requeue"};
  submission.tasks = 3;
  submission.job_name = "hocket-s";
  submission.command = {"hocket", "work", "it's"};
  submission.output = "%A_%a.log";
  return submission;
}

TEST(SbatchCommandTest, TheUsersOptionsComeBehindOurs) {
  EXPECT_THAT(sbatch_command(some_submission(), ""),
              ElementsAre("sbatch", "--job-name=hocket-s", "--output=%A_%a.log",
                          "--open-mode=append", "--requeue", "--signal=B:TERM@30", "--nodes", "4",
                          "--no-requeue", "--export=ALL", "--parsable", "--array=0-2",
                          "--wrap=export SLURM_EXPORT_ENV=ALL\nexec hocket work 'it'\\''s'"));
}

TEST(SbatchCommandTest, OurVariablesAreExportedByName) {
  auto submission = some_submission();
  submission.environment = {{"HOCKET_STORE", "secret"}, {"HOCKET_X", "1"}};
  const auto exported = [&](const std::string& asked, const std::string& default_export = "") {
    submission.options.clear();
    if (!asked.empty()) submission.options = {"--export", asked};
    for (const std::string& word : sbatch_command(submission, default_export)) {
      EXPECT_THAT(word, Not(HasSubstr("secret")));
    }
    const auto command = sbatch_command(submission, default_export);
    const auto found = std::find_if(command.begin(), command.end(), [](const std::string& word) {
      return word.starts_with("--export=");
    });
    return found == command.end() ? "" : *found;
  };
  EXPECT_EQ(exported(""), "--export=ALL");
  EXPECT_EQ(exported("ALL"), "--export=ALL");
  EXPECT_EQ(exported("ALL,A=1"), "--export=ALL,A=1");
  EXPECT_EQ(exported("A=1,ALL"), "--export=A=1,ALL");
  EXPECT_EQ(exported("NONE"), "--export=HOCKET_STORE,HOCKET_X");
  EXPECT_EQ(exported("A=1,B"), "--export=A=1,B,HOCKET_STORE,HOCKET_X");
  EXPECT_EQ(exported("", "NONE"), "--export=HOCKET_STORE,HOCKET_X");
  EXPECT_EQ(exported("A", "NONE"), "--export=A,HOCKET_STORE,HOCKET_X");
}

/// Slurm's programs are scripts of the test.
class SlurmCommandsTest : public testing::Test {
 protected:
  void write(const std::string& program, const std::string& script) {
    const std::string path = folder_.write(program, "#!/bin/sh\n" + script);
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }

  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  SlurmSubmission submission() const {
    auto submission = some_submission();
    submission.output = folder_.file("a/b/%A_%a.log");
    return submission;
  }

  TemporaryFolder folder_;
  // Without the folder that Slurm's own programs are in.
  ScopedEnvironment path_{"PATH", folder_.path().c_str()};
  SteadyClock clock_;
  SlurmCommands slurm_{clock_};
};

TEST_F(SlurmCommandsTest, AMissingProgramIsAnErrorThatSaysWhatToDo) {
  for (const char* const other : {static_cast<const char*>(nullptr), "1"}) {
    // With such a variable the program is started by env.
    const ScopedEnvironment leaked("SLURM_NTASKS", other);
    if (other != nullptr) std::filesystem::create_symlink("/usr/bin/env", folder_.file("env"));
    const auto job = slurm_.submit(submission());
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code, ErrorCode::not_found);
    EXPECT_THAT(job.error().message, HasSubstr("sbatch is not found"));
    EXPECT_THAT(job.error().message, HasSubstr("login node"));
  }
}

TEST_F(SlurmCommandsTest, TheNumberOfTheJobIsRead) {
  write("sbatch", "echo welcome\necho '12;cluster'\n");
  EXPECT_EQ(slurm_.submit(submission()), "12");
  EXPECT_TRUE(std::filesystem::is_directory(folder_.file("a/b"))) << "Slurm makes no folders";
  for (const char* const printed :
       {"echo", "echo twelve", "echo 12 13", "echo 1234567890123456789012", "echo '../12'"}) {
    write("sbatch", printed);
    const auto job = slurm_.submit(submission());
    ASSERT_FALSE(job) << printed;
    EXPECT_EQ(job.error().code, ErrorCode::unavailable);
    EXPECT_THAT(job.error().message, HasSubstr("squeue --name hocket-s"));
  }
}

TEST_F(SlurmCommandsTest, LogsNeedAFolder) {
  write("sbatch", "echo 12\n");
  auto wanted = submission();
  wanted.output = folder_.write("file", "") + "/%A.log";
  const auto job = slurm_.submit(wanted);
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error().message, HasSubstr("the folder of the workers' logs, " +
                                             folder_.file("file") + ", cannot be made: "));
  wanted.options = {"--output=" + folder_.file("users") + "/x"};
  EXPECT_TRUE(slurm_.submit(wanted)) << "the user's is used";
  EXPECT_TRUE(std::filesystem::is_directory(folder_.file("users")));
  wanted.options = {"--output=" + folder_.file("%x") + "/x"};
  EXPECT_TRUE(slurm_.submit(wanted));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("%x"))) << "only Slurm knows its name";
}

TEST_F(SlurmCommandsTest, WhatSbatchSaysIsTheError) {
  write("sbatch", "echo 'sbatch: error: Invalid partition name specified' >&2; exit 1\n");
  const auto refused = slurm_.submit(submission());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused.error().message,
            "sbatch refuses the workers: Invalid partition name specified; correct what --slurm "
            "asks for");
  write("sbatch",
        "echo 'sbatch: error: Batch job submission failed: Unable to contact slurm controller "
        "(connect failure)' >&2; exit 1\n");
  EXPECT_EQ(slurm_.submit(submission()).error().code, ErrorCode::unavailable);
}

TEST_F(SlurmCommandsTest, AProgramThatHangsIsStopped) {
  write("sbatch", "while :; do :; done\n");
  write("squeue", "while :; do :; done\n");
  SlurmCommands impatient(clock_, {.submit_ns = 100'000'000, .ask_ns = 100'000'000});
  EXPECT_EQ(impatient.submit(submission()).error().code, ErrorCode::timed_out);
  EXPECT_EQ(impatient.tasks("12").error().code, ErrorCode::timed_out);
}

TEST_F(SlurmCommandsTest, TheAllocationThatHocketRunsInDoesNotLeak) {
  std::filesystem::create_symlink("/usr/bin/env", folder_.file("env"));
  const std::string out = folder_.file("variables");
  write("sbatch", "env > " + out + "; echo 12\n");
  const ScopedEnvironment step("SLURM_STEP_ID", "5"), wait("SBATCH_WAIT", "1"),
      users("SQUEUE_USERS", "me"), config("SLURM_CONF", "/etc/x"), token("SLURM_JWT", "t");
  auto wanted = submission();
  wanted.environment = {{"HOCKET_STORE", "secret"}};
  ASSERT_TRUE(slurm_.submit(wanted));
  const std::string text = text_of("variables");
  EXPECT_THAT(text, Not(HasSubstr("SLURM_STEP_ID")));
  EXPECT_THAT(text, Not(HasSubstr("SBATCH_WAIT")));
  EXPECT_THAT(text, Not(HasSubstr("SQUEUE_USERS")));
  EXPECT_THAT(text, HasSubstr("SLURM_CONF=/etc/x\n"));
  EXPECT_THAT(text, HasSubstr("SLURM_JWT=t\n"));
  EXPECT_THAT(text, HasSubstr("HOCKET_STORE=secret\n"));
}

TEST_F(SlurmCommandsTest, TasksThatAreForgottenAreInTheAccounting) {
  write("sbatch", "echo 12\n");
  write("squeue", "echo '2|RUNNING|0|0|N/A|14|n1|None|'\n");
  write("sacct", "echo x >> " + folder_.file("asked") +
                     "; echo '12_0|12|TIMEOUT|0:0|n1'; echo '12_1|13|RUNNING|0:0|n1'\n");
  ASSERT_EQ(slurm_.submit(submission()), "12");
  for (int round = 0; round < 3; ++round) {
    const auto tasks = slurm_.tasks("12");
    ASSERT_TRUE(tasks) << tasks.error().message;
    ASSERT_EQ(tasks->size(), 3U);
    EXPECT_EQ(tasks->at(0).state, SlurmState::running);
    EXPECT_EQ(tasks->at(1).state, SlurmState::timed_out);
    EXPECT_EQ(tasks->at(2).state, SlurmState::gone) << "the accounting may be late";
  }
  EXPECT_EQ(text_of("asked"), "x\n") << "it is asked once";
}

TEST_F(SlurmCommandsTest, WithoutAccountingForgottenTasksAreGone) {
  write("sbatch", "echo 12\n");
  write("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n");
  ASSERT_EQ(slurm_.submit(submission()), "12");
  for (const char* const sacct :
       {"", "echo 'Slurm accounting storage is disabled' >&2; exit 1\n", "echo garbage\n"}) {
    if (*sacct != 0) write("sacct", sacct);
    const auto tasks = slurm_.tasks("12");
    ASSERT_TRUE(tasks) << tasks.error().message;
    ASSERT_EQ(tasks->size(), 3U);
    for (const SlurmTask& task : *tasks) EXPECT_EQ(task.state, SlurmState::gone);
  }
  EXPECT_EQ(slurm_.tasks("99").error().code, ErrorCode::not_found);
}

TEST_F(SlurmCommandsTest, GarbageOfSqueueIsAnError) {
  write("squeue", "echo '<html>'\n");
  const auto tasks = slurm_.tasks("12");
  ASSERT_FALSE(tasks);
  EXPECT_THAT(tasks.error().message, HasSubstr("squeue printed \"<html>\""));
  write("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1\n");
  EXPECT_EQ(slurm_.tasks("12").error().code, ErrorCode::unavailable);
}

TEST_F(SlurmCommandsTest, CancellingWhatHasEndedIsNoError) {
  write("scancel", "exit 0\n");
  EXPECT_TRUE(slurm_.cancel("12"));
  write("scancel",
        "echo 'scancel: error: Kill job error on job id 12: Invalid job id' >&2; exit 1\n");
  EXPECT_TRUE(slurm_.cancel("12"));
  write("scancel", "echo 'scancel: error: Access denied' >&2; exit 1\n");
  EXPECT_EQ(slurm_.cancel("12").error().message, "scancel cannot end job 12: Access denied");
}

}  // namespace
}  // namespace hocket
