// Tests faulty states of the store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/base/json.h"
#include "store/sqlite/connection.h"
#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kTune = {"tune",      "--param", "X=int:1..9", "--trials", "3",
                                        "--confirm", "0",       "--",         "true"};

class TuneStore : public ::testing::Test {
 protected:
  /// Expects that tuning and reading both exit with 2 and print one line that contains `message`.
  void expect_refused(const std::string& message) {
    for (const auto& arguments : {kTune, {"studies"}, {"best"}, {"fetch", "--workload", "x"}}) {
      SCOPED_TRACE(arguments[0]);
      const auto ended = hocket_run(folder_, arguments);
      EXPECT_EQ(ended.status, 2);
      EXPECT_EQ(ended.out, "");
      EXPECT_THAT(ended.err, ::testing::StartsWith("hocket: "));
      EXPECT_THAT(ended.err, HasSubstr(message));
    }
  }

  Result<sqlite::Connection> connect() const {
    return sqlite::Connection::open(folder_.file("store.db"), sqlite::Connection::Mode::create, 0);
  }

  TemporaryFolder folder_;
};

TEST_F(TuneStore, AMissingOneMeansThatNothingIsTuned) {
  const auto ended = hocket_run(folder_, {"studies"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("nothing is tuned yet"));
  EXPECT_THAT(ended.err, HasSubstr("or a profile creates it"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("store.db")));
}

TEST_F(TuneStore, ADirectory) {
  std::filesystem::create_directory(folder_.file("store.db"));
  expect_refused("is not a file");
}

TEST_F(TuneStore, AnotherFileIsLeftAsItIs) {
  const std::string text(5000, 'x');
  folder_.write("store.db", text);
  expect_refused("not an SQLite database");
  EXPECT_EQ(read_file(folder_.file("store.db")).value_or(""), text);
}

TEST_F(TuneStore, ANewerVersion) {
  ASSERT_EQ(hocket_run(folder_, kTune).status, 3);
  ASSERT_TRUE(connect()->execute_script("PRAGMA user_version = 1000"));
  expect_refused("1000");
}

TEST_F(TuneStore, LockedByAnotherProcess) {
  ASSERT_EQ(hocket_run(folder_, kTune).status, 3);
  auto holder = connect();
  ASSERT_TRUE(holder);
  ASSERT_TRUE(holder->execute_script("BEGIN IMMEDIATE"));
  const auto locked = hocket_run(folder_, kTune);
  EXPECT_EQ(locked.status, 2);
  EXPECT_THAT(locked.err, HasSubstr("lock"));
  // Reading does not wait for the lock.
  EXPECT_EQ(hocket_run(folder_, {"studies"}).status, 0);
  ASSERT_TRUE(holder->execute_script("ROLLBACK"));
  EXPECT_EQ(hocket_run(folder_, kTune).status, 3);
}

TEST_F(TuneStore, ALockLosesNoMeasuredTrial) {
  ASSERT_EQ(hocket_run(folder_, kTune).status, 3);
  // Each trial says that it runs, and goes on when it is told so.
  Fifo started(folder_.file("started"));
  const std::string go = folder_.file("go");
  ASSERT_EQ(mkfifo(go.c_str(), 0600), 0);
  Program tune(folder_, {"tune", "--study", "locked", "--param", "X=int:1..9", "--trials", "1",
                         "--confirm", "0", "--objective", "regex:t=(.*)", "--", "sh", "-c",
                         "echo $$ > " + started.path() + "; read go < " + go + "; echo t=$X"});
  started.read_pids(1);
  {
    auto holder = connect();
    ASSERT_TRUE(holder);
    ASSERT_TRUE(holder->execute_script("BEGIN IMMEDIATE"));
    std::ofstream(go) << "go\n";
    while (tune.errors().find("waits for the store") == std::string::npos) {
      ASSERT_THAT(tune.errors(), Not(HasSubstr("go on with"))) << "it has ended";
      std::this_thread::yield();
    }
    ASSERT_TRUE(holder->execute_script("ROLLBACK"));
  }
  const auto ended = tune.wait();
  EXPECT_EQ(ended.status, 3) << ended.err;
  const auto trials = hocket_run(folder_, {"trials", "locked", "--json"});
  ASSERT_EQ(trials.json().at("trials").size(), 1U);
  EXPECT_EQ(trials.json().at("trials").at(0).at("state"), "complete");
}

TEST_F(TuneStore, ReadOnlyIsReadAndNotTuned) {
  ASSERT_EQ(hocket_run(folder_, kTune).status, 3);
  chmod(folder_.file("store.db").c_str(), 0400);
  const auto tuned = hocket_run(folder_, kTune, {}, Rights::of_modes);
  EXPECT_EQ(tuned.status, 2);
  EXPECT_THAT(tuned.err, HasSubstr("read-only"));
  EXPECT_EQ(hocket_run(folder_, {"studies"}, {}, Rights::of_modes).status, 0);
}

TEST_F(TuneStore, TwoSweepsAtOnceBothKeepAllTheirTrials) {
  const TemporaryFolder other;
  const Program::Environment store = {{"HOCKET_STORE", folder_.file("store.db")}};
  auto arguments = kTune;
  arguments.insert(arguments.begin() + 1, {"--study", "one", "--json"});
  Program one(folder_, arguments, store);
  arguments[2] = "two";
  Program two(other, arguments, store);
  const auto first = one.wait(), second = two.wait();
  EXPECT_EQ(first.status, 3) << first.err;
  EXPECT_EQ(second.status, 3) << second.err;
  for (const auto* name : {"one", "two"}) {
    const auto trials = hocket_run(folder_, {"trials", name, "--json"}, store);
    EXPECT_EQ(trials.json().at("trials").size(), 3U) << name;
  }
}

TEST_F(TuneStore, ItsFolderCannotBeMade) {
  auto arguments = kTune;
  arguments.insert(arguments.begin() + 1, {"--store", "/dev/null/store.db"});
  const auto ended = hocket_run(folder_, arguments);
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("/dev/null"));
}

TEST_F(TuneStore, AFullDiskEndsTheSweepAndLosesNothing) {
  // A limit on file sizes simulates a full disk.
  const std::string script = std::string("trap '' XFSZ; ulimit -f 600; exec ") + HOCKET_PROGRAM +
                             " tune --study full --param X=int:1..999 --trials 150 "
                             "--all-trials --confirm 0 "
                             "--objective 'regex:t=(.*)' -- sh -c 'echo t=$X'";
  const auto full = hocket_run(folder_, {"run", "--ranks", "1", "--", "sh", "-c", script});
  EXPECT_EQ(full.status, 2) << full.err;
  EXPECT_THAT(full.err, HasSubstr("--resume --study full"));
  std::int64_t told = 0;
  for (std::size_t at = 0; (at = full.err.find("\ntrial ", at)) != std::string::npos; ++at) ++told;
  EXPECT_GT(told, 0);
  const auto complete = [&] {
    const auto document = hocket_run(folder_, {"trials", "full", "--json"}).json();
    std::int64_t count = 0;
    for (const auto& trial : document.at("trials")) count += trial.at("state") == "complete";
    return count;
  };
  EXPECT_EQ(complete(), told);
  const auto resumed = hocket_run(folder_, {"tune", "--resume"});
  EXPECT_EQ(resumed.status, 3) << resumed.err;
  EXPECT_EQ(complete(), 150);
}

TEST_F(TuneStore, CanBeNamed) {
  auto arguments = kTune;
  arguments.insert(arguments.begin() + 1, {"--store", "here/mine.db"});
  EXPECT_EQ(hocket_run(folder_, arguments).status, 3);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("here/mine.db")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("store.db")));
  EXPECT_EQ(hocket_run(folder_, {"best", "--store", "here/mine.db"}).status, 0);
}

}  // namespace
}  // namespace hocket
