#include "tuner/slurm/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>

#include "tests/rounds.h"
#include "tests/set_clock.h"
#include "tests/temporary_folder.h"
#include "tests/tuner/slurm/memory_slurm.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kFleetSecondNs = 1'000'000'000;

std::vector<std::string> names_of(const std::vector<GoneWorker>& workers) {
  std::vector<std::string> names;
  for (const GoneWorker& worker : workers) names.push_back(worker.name);
  return names;
}

class FleetTest : public testing::Test {
 protected:
  void start(int tasks, const SlurmFleetOptions& options = {}) {
    SlurmSubmission submission;
    submission.tasks = tasks;
    submission.job_name = "hocket-study";
    submission.command = {"hocket", "work", "study"};
    submission.output = folder_.file("%A_%a.log");
    fleet_ = std::make_unique<SlurmFleet>(slurm_, submission, clock_, options);
  }

  void start_running(int tasks) {
    start(tasks);
    tick();
    for (int index = 0; index < tasks; ++index) slurm_.run("12", index, "n1");
    tick();
  }

  /// Lets the interval pass, and returns the notes.
  std::vector<std::string> tick() {
    clock_.now += 2 * kFleetSecondNs;
    auto notes = fleet_->tick();
    EXPECT_TRUE(notes) << (notes ? "" : notes.error().message);
    return notes ? *notes : std::vector<std::string>();
  }

  std::string error() {
    clock_.now += 2 * kFleetSecondNs;
    const auto notes = fleet_->tick();
    EXPECT_FALSE(notes);
    return notes ? "" : notes.error().message;
  }

  void end(const std::string& job_id, int index, SlurmState state, const std::string& text,
           SlurmExit exit = {}) {
    slurm_.end(job_id, index, state, text, exit);
  }

  MemorySlurm slurm_;
  SetClock clock_;
  TemporaryFolder folder_;
  std::unique_ptr<SlurmFleet> fleet_;
};

TEST_F(FleetTest, TheFirstTickSubmitsAllTasks) {
  start(3);
  EXPECT_THAT(tick(), ElementsAre("submitted job 12 with 3 tasks"));
  ASSERT_EQ(slurm_.submissions.size(), 1U);
  EXPECT_EQ(slurm_.submissions[0].tasks, 3);
  EXPECT_EQ(fleet_->live_tasks(), 3);
}

TEST_F(FleetTest, SlurmIsAskedAtMostOnceInTheInterval) {
  start(1);
  tick();
  EXPECT_EQ(slurm_.questions, 1);
  clock_.now += 2 * kFleetSecondNs - 1;
  EXPECT_TRUE(fleet_->tick());
  EXPECT_EQ(slurm_.questions, 1);
  clock_.now += 1;
  EXPECT_TRUE(fleet_->tick());
  EXPECT_EQ(slurm_.questions, 2);
}

TEST_F(FleetTest, AReasonToWaitIsNotedOnce) {
  start(6);
  tick();
  for (int index = 0; index < 6; ++index) slurm_.task("12", index).reason = "Priority";
  slurm_.task("12", 5).reason = "Resources";
  EXPECT_THAT(tick(), ElementsAre("tasks 12_0, 12_1, 12_2, 12_3 and 1 others wait: Priority",
                                  "task 12_5 waits: Resources"));
  EXPECT_THAT(tick(), IsEmpty());
  slurm_.task("12", 5).reason = "Priority";
  EXPECT_THAT(tick(), ElementsAre("task 12_5 waits: Priority"));
  slurm_.task("12", 5).reason = "Resources";
  EXPECT_THAT(tick(), IsEmpty());
}

TEST_F(FleetTest, ATaskThatRunsIsNotedOnce) {
  start(2);
  tick();
  slurm_.run("12", 1, "n3");
  EXPECT_THAT(tick(), ElementsAre("task 12_1 runs on node n3"));
  slurm_.run("12", 0, "n[1-2]");
  EXPECT_THAT(tick(), ElementsAre("task 12_0 runs on nodes n[1-2]"));
  EXPECT_THAT(tick(), IsEmpty());
  EXPECT_THAT(names_of(fleet_->take_gone()), IsEmpty());
}

TEST_F(FleetTest, ATaskThatRunsOutOfTimeIsReplaced) {
  start_running(2);
  end("12", 0, SlurmState::timed_out, "TIMEOUT");
  EXPECT_THAT(tick(), ElementsAre("task 12_0 ran out of time; submitted another, 13_0"));
  EXPECT_THAT(names_of(fleet_->take_gone()), ElementsAre("slurm-12_0"));
  EXPECT_THAT(names_of(fleet_->take_gone()), IsEmpty());
  ASSERT_EQ(slurm_.submissions.size(), 2U);
  EXPECT_EQ(slurm_.submissions[1].tasks, 1);
  EXPECT_EQ(slurm_.submissions[1].command, slurm_.submissions[0].command);
  slurm_.run("13", 0, "n2");
  EXPECT_THAT(tick(), ElementsAre("task 13_0 runs on node n2"));
}

TEST_F(FleetTest, EachEndBeforeTheStudysIsReplaced) {
  start_running(6);
  end("12", 0, SlurmState::completed, "COMPLETED");
  end("12", 1, SlurmState::preempted, "PREEMPTED");
  end("12", 2, SlurmState::node_failed, "NODE_FAIL");
  end("12", 3, SlurmState::failed, "FAILED", {0, 15});
  end("12", 4, SlurmState::failed, "FAILED", {143, 0});
  slurm_.arrays["12"].pop_back();
  EXPECT_THAT(tick(),
              ElementsAre("task 12_0 ended before the study was over; submitted another, 13_0",
                          "task 12_1 was preempted; submitted another, 13_1",
                          "task 12_2 lost its node (n1); submitted another, 13_2",
                          "task 12_3 was told to end by signal 15 on node n1; submitted another, "
                          "13_3",
                          "task 12_4 was told to end with exit status 143 on node n1; submitted "
                          "another, 13_4",
                          "task 12_5 has ended, and Slurm no longer knows how; submitted another, "
                          "13_5"));
  EXPECT_EQ(names_of(fleet_->take_gone()).size(), 6U);
  EXPECT_EQ(fleet_->live_tasks(), 6);
}

TEST_F(FleetTest, ARequeuedTaskIsGoneAndStays) {
  start_running(1);
  slurm_.task("12", 0).restarts = 1;
  MemorySlurm::set(slurm_.task("12", 0), SlurmState::completing, "COMPLETING");
  EXPECT_THAT(tick(), ElementsAre("task 12_0 was put back (preempted, its node failed, or scontrol "
                                  "requeue) and is queued again"));
  EXPECT_THAT(names_of(fleet_->take_gone()), ElementsAre("slurm-12_0"));
  MemorySlurm::set(slurm_.task("12", 0), SlurmState::pending, "PENDING", "BeginTime");
  EXPECT_THAT(tick(), IsEmpty());
  slurm_.task("12", 0).reason = "Priority";
  EXPECT_THAT(tick(), ElementsAre("task 12_0 waits: Priority"));
  slurm_.run("12", 0, "n2");
  EXPECT_THAT(tick(), ElementsAre("task 12_0 runs on node n2"));
  EXPECT_EQ(slurm_.submissions.size(), 1U);
  // Twice between two questions.
  slurm_.task("12", 0).restarts = 3;
  EXPECT_THAT(tick(), testing::SizeIs(2));
  EXPECT_THAT(names_of(fleet_->take_gone()), ElementsAre("slurm-12_0.1", "slurm-12_0.2"));
  end("12", 0, SlurmState::timed_out, "TIMEOUT");
  tick();
  EXPECT_THAT(names_of(fleet_->take_gone()), ElementsAre("slurm-12_0.3"));
}

TEST_F(FleetTest, APreemptionIsKnownFromSlurmOrFromTheLog) {
  start_running(2);
  slurm_.task("12", 0).restarts = 1;
  slurm_.task("12", 0).is_being_preempted = true;
  slurm_.task("12", 1).restarts = 1;
  folder_.write("12_1.log",
                "x\nslurmstepd-n1: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-27T02:12:43 DUE TO "
                "PREEMPTION ***\n");
  EXPECT_THAT(tick(), testing::IsSupersetOf({"task 12_0 was preempted and is queued again",
                                             "task 12_1 was preempted and is queued again"}));
}

TEST_F(FleetTest, FailuresInARowAreAnError) {
  start_running(2);
  end("12", 0, SlurmState::failed, "FAILED", {7, 0});
  EXPECT_THAT(tick(), ElementsAre("task 12_0 failed with exit status 7 on node n1; submitted "
                                  "another, 13_0"));
  slurm_.run("13", 0, "n2");
  end("13", 0, SlurmState::out_of_memory, "OUT_OF_MEMORY");
  EXPECT_THAT(tick(), ElementsAre("task 13_0 ran out of memory on node n2; submitted another, "
                                  "14_0"));
  slurm_.run("14", 0, "n3");
  end("14", 0, SlurmState::failed, "FAILED", {0, 9});
  folder_.write("14_0.log", "1\n2\n3\n4\n5\n6\n");
  const std::string text = error();
  EXPECT_THAT(text, HasSubstr("3 workers failed one after another without a finished trial; the "
                              "last, task 14_0, failed by signal 9 on node n3 (state FAILED); its "
                              "log " +
                              folder_.file("14_0.log") + " ends: 2 | 3 | 4 | 5 | 6; correct"));
  EXPECT_EQ(error(), text) << "it stays an error";
  EXPECT_EQ(slurm_.submissions.size(), 3U);
}

TEST_F(FleetTest, AFinishedTrialForgivesFailures) {
  start_running(1);
  for (int round = 0; round < 10; ++round) {
    end(std::to_string(12 + round), 0, SlurmState::failed, "FAILED", {1, 0});
    tick();
    if (round % 2 == 1) fleet_->note_progress();
  }
  EXPECT_EQ(slurm_.submissions.size(), 11U);
}

TEST_F(FleetTest, GenerationsWithoutAFinishedTrialAreAnError) {
  start_running(4);
  int job = 12;
  for (int generation = 0; generation < 2; ++generation, ++job) {
    for (int index = 0; index < 4; ++index)
      end(std::to_string(job), index, SlurmState::timed_out, "TIMEOUT");
    tick();
  }
  for (int index = 0; index < 4; ++index)
    end(std::to_string(job), index, SlurmState::timed_out, "TIMEOUT");
  EXPECT_THAT(error(), HasSubstr("12 workers ended one after another without a finished trial; the "
                                 "last, task 14_3, ran out of time (state TIMEOUT)"));
}

TEST_F(FleetTest, EveryEndOfItsOwnCountsAsOneWithoutAFinishedTrial) {
  start_running(1);
  for (int round = 0; round < 9; ++round) {
    const std::string job_id = std::to_string(12 + round);
    if (round % 3 == 0) {
      slurm_.arrays[job_id].clear();
    } else if (round % 3 == 1) {
      end(job_id, 0, SlurmState::failed, "FAILED", {0, 15});
    } else {
      end(job_id, 0, SlurmState::completed, "COMPLETED");
    }
    tick();
  }
  end("21", 0, SlurmState::timed_out, "TIMEOUT");
  EXPECT_THAT(error(), HasSubstr("10 workers ended one after another without a finished trial"));
}

TEST_F(FleetTest, LostNodesAndPreemptionsAreNotTheStudysFault) {
  start_running(1);
  for (int round = 0; round < 40; ++round) {
    const bool is_node = round % 2 == 0;
    end(std::to_string(12 + round), 0, is_node ? SlurmState::node_failed : SlurmState::preempted,
        is_node ? "NODE_FAIL" : "PREEMPTED");
    tick();
  }
  EXPECT_EQ(slurm_.submissions.size(), 41U);
}

TEST_F(FleetTest, OnlyWorkersThatFailMayHaveFailedOfTheirTrials) {
  start_running(5);
  end("12", 0, SlurmState::timed_out, "TIMEOUT");
  end("12", 1, SlurmState::preempted, "PREEMPTED");
  end("12", 2, SlurmState::cancelled, "CANCELLED");
  end("12", 3, SlurmState::node_failed, "NODE_FAIL");
  end("12", 4, SlurmState::out_of_memory, "OUT_OF_MEMORY");
  tick();
  std::vector<bool> lost;
  for (const GoneWorker& worker : fleet_->take_gone()) lost.push_back(worker.was_lost);
  EXPECT_THAT(lost, ElementsAre(false, false, false, true, true));
}

TEST_F(FleetTest, CancelledTasksAreNotReplaced) {
  start_running(3);
  end("12", 1, SlurmState::cancelled, "CANCELLED");
  EXPECT_THAT(tick(), ElementsAre("task 12_1 was cancelled; it is not replaced"));
  end("12", 0, SlurmState::timed_out, "TIMEOUT");
  EXPECT_THAT(tick(), ElementsAre("task 12_0 ran out of time; submitted another, 13_0"));
  end("12", 2, SlurmState::cancelled, "CANCELLED");
  end("13", 0, SlurmState::cancelled, "CANCELLED");
  EXPECT_THAT(error(), HasSubstr("all workers were cancelled"));
  EXPECT_THAT(names_of(fleet_->take_gone()),
              ElementsAre("slurm-12_1", "slurm-12_0", "slurm-12_2", "slurm-13_0"));
}

TEST_F(FleetTest, ASuspendedTaskIsNoted) {
  start_running(1);
  MemorySlurm::set(slurm_.task("12", 0), SlurmState::suspended, "SUSPENDED");
  EXPECT_THAT(tick(), ElementsAre("task 12_0 is suspended; its trial's time goes on"));
  slurm_.run("12", 0, "n1");
  EXPECT_THAT(tick(), ElementsAre("task 12_0 runs on node n1"));
}

TEST_F(FleetTest, SilenceIsBorneForFiveMinutes) {
  start_running(1);
  slurm_.outage = Error{ErrorCode::unavailable, "connect failure"};
  EXPECT_THAT(tick(), ElementsAre("Slurm does not answer, and is asked again: connect failure"));
  for (int i = 0; i < 149; ++i) EXPECT_THAT(tick(), IsEmpty());
  EXPECT_THAT(error(), HasSubstr("Slurm has not answered for 300 s: connect failure"));
  slurm_.outage.reset();
  EXPECT_THAT(tick(), ElementsAre("Slurm answers again"));
  slurm_.outage = Error{ErrorCode::unavailable, "connect failure"};
  EXPECT_THAT(tick(), ElementsAre("Slurm does not answer, and is asked again: connect failure"));
}

TEST_F(FleetTest, ASubmissionThatSlurmCannotTakeNowIsTriedAgain) {
  start_running(2);
  slurm_.refusal = Error{ErrorCode::timed_out, "sbatch did not answer"};
  end("12", 0, SlurmState::timed_out, "TIMEOUT");
  EXPECT_THAT(tick(),
              ElementsAre("task 12_0 ran out of time",
                          "Slurm does not answer, and is asked again: sbatch did not answer"));
  for (int i = 0; i < 149; ++i) EXPECT_THAT(tick(), IsEmpty());
  EXPECT_THAT(error(), HasSubstr("300 s: sbatch did not answer"));
  slurm_.refusal.reset();
  EXPECT_THAT(tick(), ElementsAre("submitted 1 more in job 13", "Slurm answers again"));
  EXPECT_EQ(fleet_->live_tasks(), 2);
}

TEST_F(FleetTest, ARefusedSubmissionIsAnErrorAtOnce) {
  slurm_.refusal = Error{ErrorCode::invalid_argument, "invalid partition"};
  start(1);
  EXPECT_EQ(error(), "invalid partition");
  slurm_.refusal.reset();
  EXPECT_EQ(error(), "invalid partition") << "it stays an error";
  start_running(1);
  slurm_.refusal = Error{ErrorCode::invalid_argument, "too many jobs"};
  end("12", 0, SlurmState::completed, "COMPLETED");
  EXPECT_EQ(error(), "too many jobs");
}

TEST_F(FleetTest, FinishCancelsWhatIsLeft) {
  start_running(2);
  end("12", 0, SlurmState::timed_out, "TIMEOUT");
  tick();
  end("12", 1, SlurmState::timed_out, "TIMEOUT");
  tick();
  ASSERT_TRUE(fleet_->finish());
  EXPECT_THAT(slurm_.cancelled, ElementsAre("13", "14")) << "nothing is left of job 12";
  const int questions = slurm_.questions;
  EXPECT_THAT(tick(), IsEmpty());
  EXPECT_EQ(slurm_.questions, questions);
  fleet_.reset();
  EXPECT_THAT(slurm_.cancelled, ElementsAre("13", "14"));
}

TEST_F(FleetTest, WhatCannotBeCancelledIsNamedAndTriedAgain) {
  start_running(1);
  slurm_.outage = Error{ErrorCode::unavailable, "connect failure"};
  const auto done = fleet_->finish();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "workers are left: connect failure; end them with scancel 12");
  slurm_.outage.reset();
  fleet_.reset();
  EXPECT_THAT(slurm_.cancelled, ElementsAre("12"));
}

TEST_F(FleetTest, AFleetThatNeverStartedCancelsNothing) {
  start(1);
  fleet_.reset();
  EXPECT_THAT(slurm_.cancelled, IsEmpty());
}

/// Whatever happens to tasks: as many live as are wanted, each worker goes once, and only those
/// that have ended or were requeued.
TEST(FleetPropertyTest, EveryWorkerThatEndsIsGoneOnce) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    MemorySlurm slurm;
    SetClock clock;
    SlurmSubmission submission;
    submission.tasks = 4;
    submission.command = {"true"};
    SlurmFleet fleet(slurm, submission, clock);
    std::multiset<std::string> ended, gone;
    int wanted = 4;
    for (int round = 0; round < 50 && wanted > 0; ++round) {
      clock.now += 2 * kFleetSecondNs;
      slurm.outage =
          random() % 8 == 0 ? std::optional(Error{ErrorCode::unavailable, "away"}) : std::nullopt;
      ASSERT_TRUE(fleet.tick());
      fleet.note_progress();
      for (const GoneWorker& worker : fleet.take_gone()) gone.insert(worker.name);
      if (!slurm.outage) {
        ASSERT_EQ(gone, ended);
        ASSERT_EQ(fleet.live_tasks(), wanted);
      }
      for (auto& [job_id, tasks] : slurm.arrays) {
        for (SlurmTask& task : tasks) {
          if (has_ended(task.state) || random() % 4 != 0 || wanted == 1) continue;
          const std::string name = "slurm-" + job_id + "_" + std::to_string(task.index) +
                                   (task.restarts > 0 ? "." + std::to_string(task.restarts) : "");
          switch (random() % 6) {
            case 0:
              task.state = SlurmState::running;
              break;
            case 1:
              ++task.restarts;
              task.state = SlurmState::pending;
              ended.insert(name);
              break;
            case 2:
              task.state = SlurmState::cancelled;
              --wanted;
              ended.insert(name);
              break;
            default:
              task.state = random() % 2 == 0 ? SlurmState::timed_out : SlurmState::node_failed;
              ended.insert(name);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hocket
