// Tests studies whose trials are run by several workers: `hocket tune --workers` and `hocket work`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include "store/open.h"
#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Writes which worker it runs for. With GATE in its environment it waits for the file "go"; with
/// BLOCK in its environment it tells its process id and blocks.
constexpr const char* kSharedScript = R"(
echo "$HOCKET_WORKER" >>workers
while [ -n "$GATE" ] && [ ! -e go ]; do sleep 0.01; done
if [ -n "$BLOCK" ]; then
  exec 3>pids
  echo $$ >&3
  exec sleep 1000
fi
echo t=$(( (X - 20) * (X - 20) + 100 ))
)";

std::vector<std::string> shared_tune(const std::string& workers) {
  return {"tune",     "--param", "X=int:1..64",  "--default",        "X=60",
          "--trials", "9",       "--objective",  "regex:t=([0-9]+)", "--json",
          "--study",  "shared",  "--all-trials", "--workers",        workers,
          "--",       "sh",      "-c",           kSharedScript};
}

class WorkTest : public ::testing::Test {
 protected:
  /// Waits until the study is in the store.
  void wait_for_study() const {
    for (;;) {
      const auto store = open_store(folder_.file("store.db"));
      if (store && (*store)->study("shared")) return;
      std::this_thread::yield();
    }
  }

  /// Waits until the study has so many workers.
  void wait_for_workers(std::size_t count) const {
    const auto store = open_store(folder_.file("store.db"));
    const std::int64_t id = (*store)->study("shared")->id;
    while ((*store)->workers(id)->size() < count) std::this_thread::yield();
  }

  /// Returns the environment of a worker that runs in another folder.
  Program::Environment with_store(Program::Environment environment = {}) const {
    environment["HOCKET_STORE"] = folder_.file("store.db");
    return environment;
  }

  std::vector<TrialRow> trials() const {
    const auto store = open_store(folder_.file("store.db"));
    return (*store)->trials((*store)->study("shared")->id, TrialDetail::summary).value();
  }

  std::set<std::string> worker_numbers() const {
    std::ifstream lines(folder_.file("workers"));
    std::set<std::string> numbers;
    for (std::string line; std::getline(lines, line);) numbers.insert(line);
    return numbers;
  }

  /// Expects a finished study of which each setting was searched once.
  void expect_whole(const Ended& tuned) const {
    ASSERT_EQ(tuned.status, 0) << tuned.err;
    EXPECT_EQ(tuned.json().at("promoted"), true);
    std::set<std::string> searched;
    for (const TrialRow& trial : trials()) {
      EXPECT_EQ(trial.state, TrialState::complete) << trial.number;
      if (trial.phase != TrialPhase::search) continue;
      EXPECT_TRUE(searched.insert(trial.params.dump()).second) << "a setting was searched twice";
    }
    EXPECT_EQ(searched.size(), 9u);
  }

  /// Returns the address that `hocket serve` prints once it listens.
  static std::string address_of(const Program& daemon) {
    for (;;) {
      const std::string out = daemon.output();
      if (const auto end = out.find('\n'); end != out.npos) return out.substr(0, end);
      std::this_thread::yield();
    }
  }

  /// Expects that two workers, the second with --json, ran all trials until the study's end.
  void expect_shared(const Ended& one, const Ended& two) const {
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_EQ(two.status, 0) << two.err;
    EXPECT_THAT(one.out, HasSubstr("study shared is finished"));
    EXPECT_THAT(one.err + two.err, HasSubstr("shared trial 1  X=60\n"));
    const auto of_second = two.json().at("trials").get<std::int64_t>();
    EXPECT_THAT(one.out, HasSubstr("ran " + std::to_string(std::ssize(trials()) - of_second)));
  }

  const std::vector<std::string> work_ = {"work", "shared", "--lease", "1s"};
  TemporaryFolder folder_;
};

TEST_F(WorkTest, TuneRunsTrialsSideBySideAndWarnsThatTheyDisturbOneAnother) {
  const auto tuned = hocket_run(folder_, shared_tune("3"));
  expect_whole(tuned);
  EXPECT_EQ(worker_numbers(), (std::set<std::string>{"0", "1", "2"}));
  EXPECT_THAT(tuned.err, AllOf(HasSubstr("workers join with: hocket work shared\n"),
                               HasSubstr("has several workers"), HasSubstr("trial 9/9  X=")));
  // By one worker that is alone on its host nothing is disturbed.
  const TemporaryFolder alone;
  EXPECT_THAT(hocket_run(alone, shared_tune("1")).err, Not(HasSubstr("several workers")));
}

TEST_F(WorkTest, WorkersOfOtherProcessesRunWhatIsOfferedAndLeaveAtTheEnd) {
  const TemporaryFolder first_folder, second_folder;
  Program tuning(folder_, shared_tune("0"));
  wait_for_study();
  Program first(first_folder, work_, with_store({{"GATE", "1"}}));
  Program second(second_folder, {"work", "shared", "--json"}, with_store({{"GATE", "1"}}));
  wait_for_workers(2);
  folder_.write("go", "");
  expect_whole(tuning.wait());
  const auto one = first.wait(), two = second.wait();
  expect_shared(one, two);
  EXPECT_EQ(two.json().at("reason"), "study shared is finished");
  const auto late = hocket_run(folder_, work_);
  EXPECT_EQ(late.status, 2);
  EXPECT_THAT(late.err, HasSubstr("study shared is finished"));
}

TEST_F(WorkTest, WorkersThatReachOnlyADaemonRunAStudyOfAStoreInAFile) {
  const TemporaryFolder serve_folder, first_folder, second_folder, state_folder;
  const Program::Environment own_state = {{"XDG_STATE_HOME", state_folder.path()}};
  Program tuning(folder_, shared_tune("0"));
  wait_for_study();
  Program daemon(serve_folder,
                 {"serve", "--listen", "127.0.0.1:0", "--store", folder_.file("store.db")},
                 own_state);
  const std::string url = address_of(daemon);
  auto gated = own_state;
  gated["GATE"] = "1";
  // Their own stores have nothing.
  Program first(first_folder, {"work", "shared", "--lease", "1s", "--daemon", url}, gated);
  Program second(second_folder, {"work", "shared", "--json", "--daemon", url}, gated);
  wait_for_workers(2);
  folder_.write("go", "");
  expect_whole(tuning.wait());
  const auto one = first.wait(), two = second.wait();
  expect_shared(one, two);
  EXPECT_EQ(worker_numbers().size(), 1u) << "their commands ran in the study's folder";

  // As somebody who does not find the daemon's own token.
  const auto stranger = hocket_run(first_folder, {"work", "shared", "--daemon", url},
                                   {{"XDG_STATE_HOME", second_folder.path()}});
  EXPECT_EQ(stranger.status, 2);
  EXPECT_THAT(stranger.err, AllOf(HasSubstr(url), HasSubstr("HOCKET_TOKEN_FILE")));
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().status, 0);
}

TEST_F(WorkTest, ADaemonIsUsedOnlyIfItIsNamed) {
  const Program::Environment named = {{"HOCKET_DAEMON", "http://127.0.0.1:1"}};
  EXPECT_THAT(hocket_run(folder_, work_, named).err, Not(HasSubstr("127.0.0.1")));
  const auto refusal = [&](std::vector<std::string> more) {
    more.insert(more.begin(), work_.begin(), work_.end());
    const auto ended = hocket_run(folder_, std::move(more), named);
    EXPECT_EQ(ended.status, 2);
    return ended.err;
  };
  EXPECT_THAT(refusal({"--daemon", ""}), HasSubstr("http://HOST:PORT"));
  EXPECT_THAT(refusal({"--daemon", "localhost:7077"}), HasSubstr("http://HOST:PORT"));
  EXPECT_THAT(refusal({"--daemon", "http://127.0.0.1:1", "--store", "x"}), HasSubstr("--store"));
  const auto away = hocket_run(folder_, {"work", "shared", "--daemon", "http://127.0.0.1:1"});
  EXPECT_EQ(away.status, 1);
  EXPECT_THAT(away.err, HasSubstr("daemon http://127.0.0.1:1"));
}

TEST_F(WorkTest, TheTrialOfAWorkerThatIsKilledGoesToAnother) {
  const TemporaryFolder worker_folder, other_folder;
  Fifo fifo(folder_.file("pids"));
  Program tuning(folder_, shared_tune("0"));
  wait_for_study();
  Program doomed(worker_folder, work_, with_store({{"BLOCK", "1"}}));
  const auto pids = fifo.read_pids(1);
  ASSERT_EQ(pids.size(), 1u);
  doomed.signal(SIGKILL);
  EXPECT_EQ(doomed.wait().status, 128 + SIGKILL);
  fifo.wait_for_end();
  Program other(other_folder, work_, with_store());
  expect_whole(tuning.wait());
  EXPECT_EQ(other.wait().status, 0);
  EXPECT_EQ(trials()[0].losses, 1);
}

TEST_F(WorkTest, AWorkerThatIsAskedToStopGivesItsTrialBackAtOnce) {
  const TemporaryFolder worker_folder, other_folder;
  Fifo fifo(folder_.file("pids"));
  Program tuning(folder_, shared_tune("0"));
  wait_for_study();
  Program leaving(worker_folder, {"work", "shared", "--lease", "1h"}, with_store({{"BLOCK", "1"}}));
  ASSERT_EQ(fifo.read_pids(1).size(), 1u);
  leaving.signal(SIGTERM);
  const auto left = leaving.wait();
  EXPECT_EQ(left.status, 0) << left.err;
  EXPECT_THAT(left.out, HasSubstr("ran 0 trials: asked to stop"));
  EXPECT_TRUE(trials()[0].is_offered);
  Program other(other_folder, work_, with_store());
  expect_whole(tuning.wait());
  EXPECT_EQ(trials()[0].losses, 0);
}

TEST_F(WorkTest, AStudyWhoseOwnerIsKilledGoesOnWithItsWorkers) {
  const TemporaryFolder worker_folder;
  Fifo fifo(folder_.file("pids"));
  Program killed(folder_, shared_tune("0"));
  wait_for_study();
  Program worker(worker_folder, work_, with_store({{"BLOCK", "1"}}));
  ASSERT_EQ(fifo.read_pids(1).size(), 1u);
  killed.signal(SIGKILL);
  EXPECT_EQ(killed.wait().status, 128 + SIGKILL);
  Program resumed(folder_, {"tune", "--resume", "--json", "--workers", "1"});
  // Its own worker has nothing to do while the default runs elsewhere.
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().status, 0);
  expect_whole(resumed.wait());
}

TEST_F(WorkTest, AnInterruptedStudyLetsItsWorkersGoAndCanBeResumed) {
  const TemporaryFolder worker_folder;
  Fifo fifo(folder_.file("pids"));
  Program tuning(folder_, shared_tune("1"), {{"BLOCK", "1"}});
  ASSERT_EQ(fifo.read_pids(1).size(), 1u);
  Program worker(worker_folder, work_, with_store());
  wait_for_workers(2);
  tuning.signal(SIGINT);
  const auto stopped = tuning.wait();
  EXPECT_EQ(stopped.status, 130);
  EXPECT_THAT(stopped.err, HasSubstr("hocket tune --resume --study shared"));
  const auto left = worker.wait();
  EXPECT_EQ(left.status, 0) << left.err;
  EXPECT_THAT(left.out, HasSubstr("was interrupted"));
  // As many workers as before. The trial that was given back may have gone to the other worker.
  expect_whole(hocket_run(folder_, {"tune", "--resume", "--json"}));
  for (const TrialRow& trial : trials()) {
    if (trial.number == 1) continue;
    EXPECT_THAT(trial.worker, HasSubstr(":0"));
  }
}

TEST_F(WorkTest, SaysWhyACommandThatNoWorkerCanRunEndsTheStudy) {
  const auto tuned = hocket_run(
      folder_, {"tune", "--param", "X=int:1..9", "--workers", "2", "--", "./no-such-program"});
  EXPECT_NE(tuned.status, 0);
  EXPECT_THAT(tuned.err, HasSubstr("no-such-program"));
}

TEST_F(WorkTest, RefusesWhatCannotBe) {
  auto tuned = hocket_run(folder_, shared_tune("-1"));
  EXPECT_EQ(tuned.status, 2);
  EXPECT_THAT(tuned.err, HasSubstr("--workers"));
  EXPECT_EQ(hocket_run(folder_, work_).status, 2) << "no store yet";

  auto alone = shared_tune("1");
  alone.erase(std::ranges::find(alone, "--workers"), std::ranges::find(alone, "--"));
  ASSERT_EQ(hocket_run(folder_, alone).status, 0);
  const auto finished = hocket_run(folder_, work_);
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.err, HasSubstr("hocket tune --workers N"));

  EXPECT_THAT(hocket_run(folder_, {"work", "none"}).err, HasSubstr("none"));

  // Two hosts that use one file at once would destroy it.
  const auto store = open_store(folder_.file("store.db"));
  const StudyRow study = (*store)->study("shared").value();
  ASSERT_TRUE((*store)->update_study(
      study.id, {.state = StudyState::running, .owner = "7@elsewhere other-boot/1"}));
  EXPECT_THAT(hocket_run(folder_, work_).err, HasSubstr("a store in a file is for one host"));
  EXPECT_THAT(hocket_run(folder_, {"work", "shared", "--lease", "soon"}).err, HasSubstr("--lease"));
}

}  // namespace
}  // namespace hocket
