// The command that ends what a trial has started elsewhere, and trials whose job outlives them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/tuner/trial/command_runner_fixture.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Reads what the trials of a runner with a stop command have left in the file "stopped".
class StopCommandTest : public CommandRunnerTest {
 protected:
  CommandRunner stopped_by(const std::string& script, const std::string& stop,
                           std::int64_t stop_limit_ns = 60'000'000'000) {
    return CommandRunner::make({.command = {"sh", "-c", script},
                                .objective = parse_objective("regex:t=([0-9]+)").value(),
                                .working_directory = folder_.path(),
                                .time_limit_ns = time_limit_ns_,
                                .stop_command = stop,
                                .stop_limit_ns = stop_limit_ns},
                               clock_, cancel_)
        .value();
  }
  std::string stopped() const {
    std::ifstream file(folder_.file("stopped"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(StopCommandTest, RunsAtTheEndOfEveryTrial) {
  const std::string stop = "echo $HOCKET_TRIAL {TRIAL} {x} $x >> stopped";
  auto runner = stopped_by("test {x} != 2 && echo t={x}", stop);
  EXPECT_EQ(runner.run({{"x", std::int64_t{1}}}, {}, 5)->state, TrialState::complete);
  EXPECT_EQ(runner.run({{"x", std::int64_t{2}}}, {}, 6)->state, TrialState::failed);
  EXPECT_EQ(stopped(), "5 5 1 1\n6 6 2 2\n");
}

TEST_F(StopCommandTest, RunsAfterATrialThatWasEnded) {
  time_limit_ns_ = 50'000'000;
  EXPECT_EQ(outcome(stopped_by("exec sleep 1000", "echo late >> stopped")).state,
            TrialState::timeout);
  time_limit_ns_.reset();
  incumbent_ = {1, 1, 1, 1, 1, 1};
  EXPECT_EQ(outcome(stopped_by("for i in 1 2 3 4 5 6; do echo t=9$i; done; exec sleep 1000",
                               "echo early >> stopped"))
                .state,
            TrialState::complete);
  EXPECT_EQ(stopped(), "late\nearly\n");
}

TEST_F(StopCommandTest, RunsAfterAnInterrupt) {
  auto runner = stopped_by("exec sleep 1000", "echo stopped >> stopped; exit 3");
  cancel_.cancel();
  const auto result = runner.run({}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::interrupted);
  EXPECT_THAT(result.error().message, HasSubstr("the stop command failed: the command ended with "
                                                "exit status 3"));
  EXPECT_EQ(stopped(), "stopped\n");
}

TEST_F(StopCommandTest, ItsFailureIsSaid) {
  const auto failed = outcome(stopped_by("echo t=1", "echo no such container >&2; exit 1"));
  EXPECT_EQ(failed.state, TrialState::complete);
  EXPECT_EQ(failed.message,
            "warning: the stop command failed: the command ended with exit status 1, its last "
            "output: no such container");
  const auto slow = outcome(stopped_by("exit 7", "exec sleep 1000", 50'000'000));
  EXPECT_EQ(slow.message,
            "the command ended with exit status 7 and said nothing; warning: the stop command was "
            "not done within 0.05 s and was ended");
}

TEST_F(CommandRunnerTest, AJobThatOutlivesItsTrialIsNamedByTheNext) {
  auto runner = shell(
      "if [ {x} = 1 ]; then echo t=1; else echo 'OSError: [Errno 98] Address "
      "already in use' >&2; exit 1; fi; : docker exec",
      "regex:t=([0-9]+)");
  EXPECT_THAT(runner.run({{"x", std::int64_t{2}}}, {})->message,
              HasSubstr("a job that is left over"));
  EXPECT_EQ(runner.run({{"x", std::int64_t{1}}}, {})->message, "");
  EXPECT_THAT(runner.run({{"x", std::int64_t{2}}}, {})->message,
              AllOf(HasSubstr("the job of an earlier trial still runs"), HasSubstr("docker exec"),
                    HasSubstr("--stop-command CMD")));
}

TEST_F(CommandRunnerTest, ACommandThatDoesNotWaitForItsJobIsToldSo) {
  EXPECT_THAT(outcome(shell("(sleep 1000; echo t=1) &", "regex:t=([0-9]+)")).message,
              HasSubstr("it must wait for its job"));
  EXPECT_THAT(outcome(shell("true", "regex:t=([0-9]+)")).message,
              ::testing::Not(HasSubstr("it must wait for its job")));
}

}  // namespace
}  // namespace hocket
