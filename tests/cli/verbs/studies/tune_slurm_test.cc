// Tests studies whose workers run under Slurm, or under launchers inside an allocation of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <set>
#include <thread>

#include "store/open.h"
#include "tests/cli/program.h"
#include "tests/scoped_environment.h"
#include "tests/tuner/slurm/cluster.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Tells where it runs, and blocks while the file "block" exists.
constexpr const char* kSlurmScript = R"(
echo "$SLURM_JOB_ID $SLURMD_NODENAME" >>places
if [ -e block ]; then
  exec 3>pids
  echo $$ >&3
  exec sleep 1000
fi
echo t=$(( (X - 20) * (X - 20) + 100 ))
)";

class TuneSlurmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = SlurmCluster::missing()) GTEST_SKIP() << *missing;
    cluster_ = &SlurmCluster::shared();
    cluster_->wait_until_idle();
    config_.emplace("SLURM_CONF", cluster_->config().c_str());
  }

  void TearDown() override {
    if (cluster_ != nullptr) cluster_->output_of({"scancel", "--user=root"});
  }

  static std::vector<std::string> tune(std::vector<std::string> options,
                                       const std::vector<std::string>& command) {
    std::vector<std::string> words = {
        "tune",     "--param",     "X=int:1..64",     "--default", "X=60",
        "--trials", "7",           "--all-trials",    "--json",    "--study",
        "shared",   "--objective", "regex:t=([0-9]+)"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

  std::vector<TrialRow> trials() const {
    const auto store = open_store(folder_.file("store.db"));
    return (*store)->trials((*store)->study("shared")->id, TrialDetail::summary).value();
  }

  /// Expects a finished study of which each setting was searched once.
  void expect_whole(const Ended& tuned) const {
    ASSERT_EQ(tuned.status, 0) << tuned.err;
    EXPECT_EQ(tuned.json().at("promoted"), true);
    std::set<std::string> searched;
    for (const TrialRow& trial : trials()) {
      EXPECT_EQ(trial.state, TrialState::complete) << trial.message;
      if (trial.phase != TrialPhase::search) continue;
      EXPECT_TRUE(searched.insert(trial.params.dump()).second) << "a setting was searched twice";
    }
    EXPECT_EQ(searched.size(), 7u);
  }

  /// Returns the ids of all jobs that run.
  std::string running_jobs() const {
    std::string ids =
        cluster_->output_of({"squeue", "--noheader", "--states=RUNNING", "--format=%A"});
    while (!ids.empty() && ids.back() == '\n') ids.pop_back();
    return ids;
  }

  /// Returns a command that runs `words` and `more` in an allocation of two nodes.
  std::vector<std::string> allocated(std::vector<std::string> words,
                                     const std::vector<std::string>& more) const {
    const std::string store = "HOCKET_STORE=" + folder_.file("store.db");
    std::vector<std::string> command = {"salloc", "--quiet", "--nodes", "2", "env", store};
    command.insert(command.end(), words.begin(), words.end());
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  SlurmCluster* cluster_ = nullptr;
  std::optional<ScopedEnvironment> config_;
  TemporaryFolder folder_;
};

TEST_F(TuneSlurmTest, RunsItsWorkersAsTasksAndTheirTrialsAsSteps) {
  const auto tuned = hocket_run(folder_, tune({"--slurm", "--nodes 1 --time 5", "--workers", "2"},
                                              {"srun", "--ntasks", "1", "sh", "-c", kSlurmScript}));
  expect_whole(tuned);
  EXPECT_THAT(tuned.err, AllOf(HasSubstr(" runs on "), HasSubstr("the store is a file"),
                               HasSubstr("trial 7/7  X=")));
  for (const TrialRow& trial : trials()) EXPECT_THAT(trial.worker, StartsWith("slurm-"));
  cluster_->wait_until_idle();
}

TEST_F(TuneSlurmTest, SurvivesThatATaskIsRequeuedInTheMiddleOfATrial) {
  folder_.write("block", "");
  Fifo fifo(folder_.file("pids"));
  Program tuning(folder_, tune({"--slurm", "--nodes 1"}, {"sh", "-c", kSlurmScript}));
  ASSERT_EQ(fifo.read_pids(1).size(), 1u);
  std::filesystem::remove(folder_.file("block"));
  const std::string job = running_jobs();
  cluster_->output_of({"scontrol", "requeue", job});
  // Slurm lets two minutes pass before a requeued job starts again.
  const auto is_pending = [&] {
    return cluster_->output_of({"squeue", "--noheader", "--jobs", job, "--format=%T"}) ==
           "PENDING\n";
  };
  while (!is_pending()) std::this_thread::yield();
  cluster_->output_of({"scontrol", "update", "JobId=" + job, "StartTime=now+3"});
  const auto tuned = tuning.wait();
  expect_whole(tuned);
  EXPECT_THAT(tuned.err, HasSubstr("queued again"));
}

TEST_F(TuneSlurmTest, ATrialThatDiesWithItsNodeGoesToAnother) {
  folder_.write("block", "");
  Fifo fifo(folder_.file("pids"));
  Program tuning(folder_, tune({"--slurm", "--nodelist n3"}, {"sh", "-c", kSlurmScript}));
  ASSERT_EQ(fifo.read_pids(1).size(), 1u);
  const TemporaryFolder other_folder;
  std::filesystem::remove(folder_.file("block"));
  cluster_->stop_node(3);
  // Slurm waits for the node; who else joins goes on with its trial.
  Program other(other_folder, {"work", "shared"}, {{"HOCKET_STORE", folder_.file("store.db")}});
  expect_whole(tuning.wait());
  EXPECT_EQ(other.wait().status, 0);
  cluster_->start_node(3);
}

TEST_F(TuneSlurmTest, SaysWithTheirLogWhyWorkersFail) {
  const auto refused = hocket_run(folder_, tune({"--slurm", "--partition none"}, {"true"}));
  EXPECT_THAT(refused.err, HasSubstr("partition"));
  EXPECT_THAT(hocket_run(folder_, tune({"--slurm", "--array 1-3"}, {"true"})).err,
              HasSubstr("--array"));
  const TemporaryFolder folder;
  const auto failed = hocket_run(folder, tune({"--slurm", "--nodes 1"}, {"./no-such-program"}));
  EXPECT_NE(failed.status, 0);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("no-such-program: "), HasSubstr(".log")));
}

TEST_F(TuneSlurmTest, CtrlCCancelsItsTasks) {
  folder_.write("block", "");
  Fifo fifo(folder_.file("pids"));
  Program tuning(folder_, tune({"--slurm", "--nodes 1"}, {"sh", "-c", kSlurmScript}));
  ASSERT_EQ(fifo.read_pids(1).size(), 1u);
  tuning.signal(SIGINT);
  EXPECT_EQ(tuning.wait().status, 130);
  fifo.wait_for_end();
  std::filesystem::remove(folder_.file("block"));
  expect_whole(hocket_run(folder_, {"tune", "--resume", "--json"}));
  for (const TrialRow& trial : trials())
    EXPECT_THAT(trial.worker, StartsWith("slurm-")) << "as before";
}

TEST_F(TuneSlurmTest, LaunchersInAnAllocationStartTrialsAndWorkers) {
  // mpirun starts the ranks of each trial, on both nodes of the allocation.
  const std::string tuned = cluster_->output_of(
      allocated({HOCKET_PROGRAM}, tune({}, {"mpirun", "--allow-run-as-root", "-n", "2", "sh", "-c",
                                            "test $OMPI_COMM_WORLD_SIZE = 2 || exit 1; "
                                            "[ $OMPI_COMM_WORLD_RANK = 1 ] || echo t=$X"})));
  EXPECT_EQ(nlohmann::json::parse(tuned).at("promoted"), true);

  // mpirun and srun start workers, whose trials are jobs of their own: sh is no rank there.
  const std::string script = "[ -z \"$OMPI_COMM_WORLD_RANK$SLURM_PROCID\" ] || exit 1; echo t=$X";
  for (const std::vector<std::string>& launcher :
       {std::vector<std::string>{"mpirun", "--allow-run-as-root", "-n", "2"},
        std::vector<std::string>{"srun", "--ntasks", "2"}}) {
    const TemporaryFolder folder;
    Program tuning(folder, tune({"--workers", "0"}, {"sh", "-c", script}));
    for (;;) {
      const auto store = open_store(folder.file("store.db"));
      if (store && (*store)->study("shared")) break;
      std::this_thread::yield();
    }
    auto words = launcher;
    words.push_back(HOCKET_PROGRAM);
    const std::string left = cluster_->output_of(
        allocated(words, {"work", "shared", "--store", folder.file("store.db")}));
    const auto ended = tuning.wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.json().at("promoted"), true);
    EXPECT_THAT(left, HasSubstr("study shared is finished")) << launcher.front();
  }
}

TEST_F(TuneSlurmTest, TorchrunInAnAllocationStartsTheRanksOfATrial) {
  const std::string torchrun = HOCKET_TORCH_PYTHON "/bin/torchrun";
  if (!std::filesystem::exists(torchrun)) GTEST_SKIP() << "there is no " << torchrun;
  folder_.write("sum.py",
                "import os, torch, torch.distributed as dist\n"
                "dist.init_process_group('gloo')\n"
                "x = torch.tensor([float(os.environ['X'])])\n"
                "dist.all_reduce(x)\n"
                "if dist.get_rank() == 0: print(f't={x.item():.0f}')\n"
                "dist.destroy_process_group()\n");
  const std::string tuned = cluster_->output_of(allocated(
      // Nothing is promoted without a confirmation, which is status 3.
      {"sh",
       "-c",
       "\"$@\" || [ $? = 3 ]",
       "sh",
       HOCKET_PROGRAM,
       "tune",
       "--param",
       "X=int:1..64",
       "--default",
       "X=60",
       "--trials",
       "2",
       "--confirm",
       "0",
       "--json",
       "--study",
       "shared",
       "--objective",
       "regex:t=([0-9]+)",
       "--"},
      {torchrun, "--standalone", "--nproc-per-node", "2", folder_.file("sum.py")}));
  EXPECT_EQ(nlohmann::json::parse(tuned).at("trials")[0].at("value"), 120) << "of two ranks";
}

}  // namespace
}  // namespace hocket
