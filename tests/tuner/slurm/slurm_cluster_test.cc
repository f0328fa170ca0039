// Slurm's own programs and daemons, and the fleet on them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"
#include "tests/tuner/slurm/cluster.h"
#include "tuner/slurm/allocation.h"
#include "tuner/slurm/fleet.h"
#include "tuner/slurm/slurm_commands.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

/// Runs until it is told to end.
constexpr const char* kEndless = "trap 'exit 0' TERM; sleep 600 & wait";

class SlurmClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = SlurmCluster::missing()) GTEST_SKIP() << *missing;
    cluster_ = &SlurmCluster::shared();
    cluster_->wait_until_idle();
    config_.emplace("SLURM_CONF", cluster_->config().c_str());
  }

  void TearDown() override {
    if (cluster_ == nullptr) return;
    if (HasFailure()) cluster_->print_logs();
    cluster_->output_of({"scancel", "--user=root"});
  }

  SlurmSubmission submission(const std::string& script, int tasks,
                             std::vector<std::string> options = {"-n", "2"}) const {
    SlurmSubmission submission;
    submission.options = std::move(options);
    submission.tasks = tasks;
    submission.job_name = "hocket test's";
    submission.command = {"sh", "-c", script};
    submission.output = folder_.file("logs/%A_%a.log");
    return submission;
  }

  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Asks until `holds(value)` is true for what `ask()` returns, and returns that; or what it
  /// returned last when a minute has passed.
  template <class Ask, class Holds>
  static auto eventually(const Ask& ask, const Holds& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (;;) {
      auto value = ask();
      if (holds(value) || std::chrono::steady_clock::now() > deadline) return value;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  /// Returns a task when it is in `state`, or as it is after a minute.
  SlurmTask task_in(SlurmState state, const std::string& job_id, int index = 0) {
    bool is_readable = true;
    const auto ask = [&] {
      const auto tasks = slurm_.tasks(job_id);
      is_readable = tasks.has_value();
      EXPECT_TRUE(is_readable) << (tasks ? "" : tasks.error().message);
      for (const SlurmTask& task : tasks ? *tasks : std::vector<SlurmTask>())
        if (task.index == index) return task;
      return SlurmTask();
    };
    return eventually(ask,
                      [&](const SlurmTask& task) { return task.state == state || !is_readable; });
  }

  SteadyClock clock_;
  SlurmCommands slurm_{clock_};
  TemporaryFolder folder_;
  SlurmCluster* cluster_ = nullptr;
  std::optional<ScopedEnvironment> config_;
};

/// A fleet on the cluster, whose notes are kept.
class Followed {
 public:
  Followed(Slurm& slurm, const SlurmSubmission& submission, const Clock& clock)
      : fleet(slurm, submission, clock, {.interval_ns = 50'000'000}) {}

  /// Ticks until the notes contain `text`, an error has come, or a minute has passed, and returns
  /// whether they do.
  bool notes(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (all.find(text) == std::string::npos && error.empty()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      if (const auto tick = fleet.tick()) {
        for (const std::string& note : *tick) all += note + "\n";
      } else {
        error = tick.error().message;
      }
      for (const GoneWorker& worker : fleet.take_gone()) gone.push_back(worker.name);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return all.find(text) != std::string::npos;
  }

  /// Ticks until an error comes, at most a minute.
  const std::string& fails() {
    notes("no note says this");
    return error;
  }

  /// Returns the number of the first job.
  std::string job() {
    EXPECT_TRUE(notes("submitted job ")) << error;
    const auto begin = all.find("submitted job ") + 14;
    return all.substr(begin, all.find(' ', begin) - begin);
  }

  SlurmFleet fleet;
  std::string all, error;
  std::vector<std::string> gone;
};

TEST_F(SlurmClusterTest, TasksRunTheCommandAndEndAsItDoes) {
  auto wanted =
      submission("echo \"in $SLURM_ARRAY_TASK_ID\"; exit $((SLURM_ARRAY_TASK_ID * 7))", 2);
  const auto job = slurm_.submit(wanted);
  ASSERT_TRUE(job) << job.error().message;
  const SlurmTask good = task_in(SlurmState::completed, *job, 0);
  EXPECT_EQ(good.state_text, "COMPLETED");
  EXPECT_EQ(good.exit, (SlurmExit{0, 0}));
  const SlurmTask bad = task_in(SlurmState::failed, *job, 1);
  EXPECT_EQ(bad.state_text, "FAILED");
  EXPECT_EQ(bad.exit, (SlurmExit{7, 0}));
  EXPECT_EQ(bad.reason, "NonZeroExitCode");
  EXPECT_THAT(bad.nodes, HasSubstr("n"));
  EXPECT_NE(bad.job_id, good.job_id);
  EXPECT_EQ(text_of(folder_.file("logs/" + *job + "_1.log")), "in 1\n");
  EXPECT_THAT(cluster_->output_of({"scontrol", "show", "job", *job}),
              HasSubstr("JobName=hocket test's\n"));
}

TEST_F(SlurmClusterTest, ASignalIsTheEndOfATask) {
  const auto job = slurm_.submit(submission("kill -9 $$", 1));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(task_in(SlurmState::failed, *job).exit, (SlurmExit{0, 9}));
}

TEST_F(SlurmClusterTest, TheEnvironmentReachesTheCommandAndItsSteps) {
  // Variables of an allocation that hocket itself may run in must not reach the tasks.
  const ScopedEnvironment step("SLURM_STEP_ID", "5"), restarts("SLURM_RESTART_COUNT", "4");
  const std::string script =
      "echo \"$HOCKET_STORE|$SLURM_STEP_ID|$SLURM_RESTART_COUNT|$OTHER\"; "
      "TRIAL=3 srun sh -c 'echo trial $TRIAL'";
  std::map<std::string, std::string> jobs;  // by what is asked for
  for (const std::string asked :
       {"", "--export=NONE", "--export=OTHER=1", "--export=ALL,OTHER=1"}) {
    auto wanted = submission(script, 1, {"-n", "1"});
    if (!asked.empty()) wanted.options.push_back(asked);
    wanted.environment = {{"HOCKET_STORE", "postgresql://u:secret@h/d"}};
    const auto job = slurm_.submit(wanted);
    ASSERT_TRUE(job) << job.error().message;
    jobs[asked] = *job;
  }
  for (const auto& [asked, job] : jobs) {
    const std::string log = folder_.file("logs/" + job + "_0.log");
    EXPECT_EQ(task_in(SlurmState::completed, job).state, SlurmState::completed) << text_of(log);
    const std::string other = asked.ends_with("OTHER=1") ? "1" : "";
    EXPECT_EQ(text_of(log), "postgresql://u:secret@h/d|||" + other + "\ntrial 3\n") << asked;
    EXPECT_THAT(cluster_->output_of({"scontrol", "show", "--detail", "job", job}),
                Not(HasSubstr("secret")));
    EXPECT_THAT(cluster_->output_of({"scontrol", "write", "batch_script", job, "-"}),
                AllOf(HasSubstr("#!/bin/sh\n"), Not(HasSubstr("secret"))));
  }
}

TEST_F(SlurmClusterTest, WhatSlurmRefusesIsAnErrorInItsWords) {
  const auto nowhere = slurm_.submit(submission("true", 1, {"--partition=nope"}));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(nowhere.error().message, HasSubstr("invalid partition specified: nope"));
  const auto unknown = slurm_.submit(submission("true", 1, {"--bogus"}));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("--bogus"));
  EXPECT_EQ(slurm_.tasks("99999").error().code, ErrorCode::not_found);
  EXPECT_TRUE(slurm_.cancel("99999"));
}

TEST_F(SlurmClusterTest, WaitingTasksAreListedOneByOne) {
  const auto job = slurm_.submit(submission(kEndless, 5));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(task_in(SlurmState::running, *job, 2).state, SlurmState::running);
  for (const int index : {3, 4}) {
    const SlurmTask waits = task_in(SlurmState::pending, *job, index);
    EXPECT_EQ(waits.state, SlurmState::pending);
    EXPECT_EQ(waits.nodes, "");
    EXPECT_EQ(waits.exit, std::nullopt);
  }
  ASSERT_TRUE(slurm_.cancel(*job));
  for (int index = 0; index < 5; ++index)
    EXPECT_EQ(task_in(SlurmState::cancelled, *job, index).state, SlurmState::cancelled);
  EXPECT_TRUE(slurm_.cancel(*job)) << "they have ended";
}

TEST_F(SlurmClusterTest, TheTimeThatIsLeftIsKnown) {
  const auto job = slurm_.submit(submission(kEndless, 2, {"-n", "2", "--time=10"}));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(task_in(SlurmState::running, *job, 1).state, SlurmState::running);
  const auto environment = [&](const char* name) -> std::optional<std::string> {
    const std::string_view asked = name;
    if (asked == "SLURM_JOB_ID" || asked == "SLURM_ARRAY_JOB_ID") return *job;
    if (asked == "SLURM_ARRAY_TASK_ID") return "1";
    return std::nullopt;
  };
  const auto left_ns = slurm_time_left_ns(environment, 0, clock_);
  ASSERT_TRUE(left_ns);
  EXPECT_GT(*left_ns, 0);
  EXPECT_LE(*left_ns, 600'000'000'000);
  cluster_->output_of({"scontrol", "update", "JobId=" + *job + "_1", "TimeLimit=UNLIMITED"});
  EXPECT_EQ(slurm_time_left_ns(environment, 0, clock_), std::nullopt);
}

TEST_F(SlurmClusterTest, ARequeuedTaskIsAnotherWorker) {
  const std::string names = folder_.file("names");
  Followed followed(slurm_,
                    submission("echo \"$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID "
                               "$SLURM_RESTART_COUNT $ENVIRONMENT\" >> " +
                                   names + "; " + kEndless,
                               1),
                    clock_);
  const std::string job = followed.job();
  ASSERT_TRUE(followed.notes("task " + job + "_0 runs on node n")) << followed.all;
  eventually([&] { return text_of(names); }, [](const auto& text) { return !text.empty(); });
  EXPECT_THAT(followed.gone, ElementsAre());
  cluster_->output_of({"scontrol", "requeue", job + "_0"});
  ASSERT_TRUE(followed.notes("and is queued again")) << followed.all << followed.error;
  EXPECT_THAT(followed.gone, ElementsAre("slurm-" + job + "_0"));
  // By itself Slurm lets it wait two minutes. A start within the second of the requeueing would
  // fail: the node takes it for the run that it was told to end.
  eventually([&] { return slurm_.tasks(job)->at(0).state; },
             [](SlurmState state) { return state == SlurmState::pending; });
  followed.all.clear();
  cluster_->output_of({"scontrol", "update", "JobId=" + job, "StartTime=now+3"});
  ASSERT_TRUE(followed.notes("task " + job + "_0 runs on node n")) << followed.all;
  const std::string twice = job + " 0  BATCH\n" + job + " 0 1 BATCH\n";
  EXPECT_EQ(eventually([&] { return text_of(names); },
                       [&](const auto& text) { return text.size() >= twice.size(); }),
            twice);
}

TEST_F(SlurmClusterTest, APreemptedTaskIsRequeued) {
  Followed followed(slurm_, submission(kEndless, 3), clock_);
  const std::string job = followed.job();
  for (const std::string index : {"0", "1", "2"})
    ASSERT_TRUE(followed.notes("task " + job + "_" + index + " runs")) << followed.all;
  const auto high = slurm_.submit(submission(kEndless, 1, {"-n", "2", "--partition=high"}));
  ASSERT_TRUE(high) << high.error().message;
  ASSERT_TRUE(followed.notes("was preempted and is queued again")) << followed.all;
  ASSERT_EQ(followed.gone.size(), 1U);
  EXPECT_THAT(followed.gone[0], HasSubstr("slurm-" + job + "_"));
  EXPECT_EQ(task_in(SlurmState::running, *high).state, SlurmState::running);
  EXPECT_EQ(followed.fleet.live_tasks(), 3);
}

TEST_F(SlurmClusterTest, CancelledTasksAreNotReplaced) {
  Followed followed(slurm_, submission(kEndless, 2), clock_);
  const std::string job = followed.job();
  ASSERT_TRUE(followed.notes("task " + job + "_1 runs")) << followed.all;
  cluster_->output_of({"scancel", job + "_1"});
  ASSERT_TRUE(followed.notes("task " + job + "_1 was cancelled; it is not replaced"));
  EXPECT_THAT(followed.gone, ElementsAre("slurm-" + job + "_1"));
  EXPECT_EQ(followed.fleet.live_tasks(), 1);
  cluster_->output_of({"scancel", job});
  EXPECT_THAT(followed.fails(), HasSubstr("all workers were cancelled"));
}

TEST_F(SlurmClusterTest, TasksThatFailAreReplacedOnlySoOften) {
  Followed followed(slurm_, submission("echo one; echo two >&2; exit 7", 1), clock_);
  EXPECT_THAT(followed.fails(), HasSubstr("3 workers failed one after another"));
  EXPECT_THAT(followed.error, HasSubstr("failed with exit status 7 on node n"));
  EXPECT_THAT(followed.error, HasSubstr("ends: one | two;"));
  EXPECT_THAT(followed.all, HasSubstr("; submitted another, "));
  EXPECT_EQ(followed.gone.size(), 3U);
}

TEST_F(SlurmClusterTest, AControllerThatRestartsIsWaitedFor) {
  // Without a controller, squeue tries for 18 seconds.
  SlurmCommands impatient(clock_, {.ask_ns = 3'000'000'000});
  Followed followed(impatient, submission(kEndless, 1), clock_);
  const std::string job = followed.job();
  ASSERT_TRUE(followed.notes("task " + job + "_0 runs")) << followed.all;
  cluster_->stop_controller();
  ASSERT_TRUE(followed.notes("Slurm does not answer")) << followed.error;
  cluster_->start_controller();
  ASSERT_TRUE(followed.notes("Slurm answers again")) << followed.error;
  EXPECT_THAT(followed.gone, ElementsAre());
  EXPECT_EQ(followed.fleet.live_tasks(), 1);
}

TEST_F(SlurmClusterTest, LostNodesAndTimeLimitsAreMadeUpFor) {
  // Slurm looks at limits of time twice a minute, so both happen together.
  const std::string lines = folder_.file("lines");
  Followed followed(
      slurm_,
      submission("echo >> " + lines + "; " + kEndless, 3, {"-n", "2", "--no-requeue", "--time=10"}),
      clock_);
  const std::string job = followed.job();
  for (const std::string index : {"0", "1", "2"})
    ASSERT_TRUE(followed.notes("task " + job + "_" + index + " runs")) << followed.all;
  // To Slurm a task runs before its node has started it. If the node ends in between, the task is
  // requeued even with --no-requeue.
  ASSERT_EQ(
      eventually([&] { return text_of(lines); }, [](const auto& text) { return text.size() >= 3; }),
      "\n\n\n");
  const std::string node = task_in(SlurmState::running, job, 1).nodes;
  // An end that is past when the controller reads it would be refused.
  cluster_->output_of({"scontrol", "update", "JobId=" + job + "_0", "EndTime=now+3"});
  const int number = node.at(1) - '0';
  cluster_->stop_node(number);
  EXPECT_TRUE(followed.notes("task " + job + "_0 ran out of time; submitted another, "))
      << followed.all << followed.error;
  EXPECT_TRUE(
      followed.notes("task " + job + "_1 lost its node (" + node + "); submitted another, "))
      << followed.all << followed.error;
  EXPECT_THAT(followed.gone, UnorderedElementsAre("slurm-" + job + "_0", "slurm-" + job + "_1"));
  EXPECT_EQ(followed.fleet.live_tasks(), 3);
  cluster_->start_node(number);
  ASSERT_TRUE(followed.fleet.finish());
  cluster_->wait_until_idle();
}

TEST_F(SlurmClusterTest, WorkersThatEndEarlyAreReplacedUntilTheStudyIsOver) {
  // Each worker adds lines to a file, three at most; the study is over when it has eight.
  const std::string lines = folder_.file("lines");
  Followed followed(
      slurm_,
      submission("for i in 1 2 3; do echo \"$SLURM_ARRAY_JOB_ID\" >> " + lines + "; done", 2),
      clock_);
  const auto count = [&] {
    const std::string text = text_of(lines);
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto ask = [&] {
    const auto tick = followed.fleet.tick();
    EXPECT_TRUE(tick) << tick.error().message;
    followed.fleet.note_progress();
    return count();
  };
  EXPECT_GE(eventually(ask, [](auto found) { return found >= 8; }), 8);
  ASSERT_TRUE(followed.fleet.finish());
  cluster_->wait_until_idle();
  EXPECT_EQ(cluster_->output_of({"squeue", "--noheader"}), "");
}

}  // namespace
}  // namespace hocket
