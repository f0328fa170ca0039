// Tests `hocket with` and `hocket fetch --format`. A command that replaces the process runs in a
// child of the test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "archive/promotions/rollback.h"
#include "archive/studies/plain_job.h"
#include "cli/application.h"
#include "core/base/json.h"
#include "core/host/topology_probe.h"
#include "store/open.h"
#include "store/sqlite/connection.h"
#include "tests/cli/answer.h"
#include "tests/daemon/running_daemon.h"
#include "tests/silent_server.h"
#include "tests/temporary_folder.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class WithTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("HOCKET_DAEMON");
    script_ = folder_.file("train.sh");
    std::ofstream(script_) << "echo X=$X arg=$1 >&2; exit ${2:-7}\n";
    store_ = must(open_store(path_));
  }

  /// Promotes {"X": value} for `workload`.
  PromotionRow promote(const Workload& workload, int value, const Words& command = {"sh"},
                       const Topology& topology = must(probe_topology())) {
    NewStudy study;
    study.command = command;
    study.definition = to_json(StudyDefinition{
        .space = space_, .objective = *parse_objective("wall"), .working_directory = "/"});
    return must(store_->promote({.topology_id = must(store_->upsert_topology(topology)),
                                 .workload_id = must(store_->upsert_workload(workload)),
                                 .study_id = must(store_->create_study(study)).id,
                                 .config = {{"X", value}},
                                 .measured = MeasuredGain{9, 10, 0.1}}));
  }

  Workload script(const std::string& path) const {
    return plain_workload(Words{"sh", path}, "/", space_);
  }

  /// Runs the verb in this process, for its errors and in death tests.
  int run(Words options, const Words& command) const {
    options.insert(options.begin(), "with");
    options.insert(options.end(), {"--store", path_, "--"});
    options.insert(options.end(), command.begin(), command.end());
    return run_hocket(options, std::cout, std::cerr, 0);
  }

  /// Runs `hocket with OPTIONS -- sh SCRIPT`.
  int with(Words options) const {
    options.insert(options.begin(), "with");
    options.insert(options.end(), {"--", "sh", script_});
    return run_hocket(options, std::cout, std::cerr, 0);
  }

  Answer fetch(Words options) const {
    options.insert(options.begin(), "fetch");
    if (std::ranges::count(options, "--") == 0) {
      options.insert(options.end(), {"--store", path_});
    } else {
      options.insert(std::ranges::find(options, "--"), {"--store", path_});
    }
    return ask_hocket(options);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("store.db");
  std::string script_;
  std::unique_ptr<Store> store_;
  const Space space_ = *Space::make({*parse_parameter("X=int:1..99")});
};

TEST_F(WithTest, TheCommandRunsInItsPlaceWithTheSetting) {
  promote(script(script_), 42);
  EXPECT_EXIT(run({}, {"sh", script_, "{X}"}), ExitedWithCode(7),
              "hocket: X=42: promoted by study sh-1 on .*, 10.0 % better than the default, "
              "for train.sh on .*\nX=42 arg=42");
  EXPECT_EXIT(run({}, {"nice", "sh", script_, "-", "3"}), ExitedWithCode(3), "X=42 arg=-");
}

TEST_F(WithTest, AnotherNumberOfRanksIsSaid) {
  promote(script(script_), 42, {"srun", "-n", "2", "sh", script_});
  const std::string srun = folder_.file("srun");
  std::ofstream(srun) << "#!/bin/sh\nshift 2\nexec \"$@\"\n";
  std::filesystem::permissions(srun, std::filesystem::perms::owner_all);
  EXPECT_EXIT(run({}, {srun, "-n", "3", "sh", script_}), ExitedWithCode(7),
              "learned with another number of ranks, 2, and the command starts 3; .*X=42 arg=");
  EXPECT_EXIT(run({}, {srun, "-n", "2", "sh", script_}), ExitedWithCode(7),
              "^hocket: X=42: promoted by [^;]*\nX=42 arg=");
}

TEST_F(WithTest, AScriptNeverGetsThatOfAnother) {
  promote(script(script_), 42);
  std::filesystem::create_directories(folder_.file("other"));
  const std::string other = folder_.file("other/train.sh");
  std::filesystem::copy(script_, other);
  EXPECT_EXIT(run({}, {"sh", other}), ExitedWithCode(7),
              "nothing is promoted for .*/other/train.sh; there are others of this name: "
              "`hocket with --workload [0-9a-f]+ --topology [0-9a-f]+ --store [^ ]+store.db -- sh "
              "[^ ]+/other/train.sh` takes that of .*/train.sh on .*; the command runs as it "
              "is\nX= arg=");
}

TEST_F(WithTest, TheSettingOfOtherHardwareIsTakenAsTheHintSays) {
  Topology other = must(probe_topology());
  other.memory_gib += 1;
  promote(script(script_), 42, {"sh"}, other);
  EXPECT_EXIT(run({}, {"sh", script_}), ExitedWithCode(7),
              "`hocket with --workload [0-9a-f]+ --topology " + fingerprint(other).substr(0, 8) +
                  " --store [^ ]+ -- sh [^ ]+` takes that of .*X= arg=");
  EXPECT_EXIT(run({"--topology", fingerprint(other).substr(0, 8)}, {"sh", script_}),
              ExitedWithCode(7), "X=42 arg=");
  EXPECT_EXIT(run({"--workload", fingerprint(script(script_)).substr(0, 8), "--topology",
                   fingerprint(other).substr(0, 8)},
                  {"sh", script_}),
              ExitedWithCode(7), "X=42 arg=");
}

TEST_F(WithTest, WithoutASettingAPlaceholderOfAStudyIsAnError) {
  promote({.name = "mine", .parameters = {{"X", "int"}}}, 1);
  const auto answer = ask_hocket({"with", "--store", path_, "--", "sh", script_, "{X}"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("{X} in the command has no value"));
  EXPECT_THAT(answer.err, HasSubstr("hocket tune --param X="));
  EXPECT_EQ(ask_hocket({"with", "--store", path_}).status, 2);
}

TEST_F(WithTest, BracesThatNoStudyDeclaredKeepNoJobFromStarting) {
  EXPECT_EXIT(run({}, {"sh", script_, "logs_{rank}"}), ExitedWithCode(7),
              "hocket: .rank. has no value and stays as it is\n"
              "hocket: nothing is .*; the command runs as it is\nX= arg=logs_.rank.");
  EXPECT_EXIT(run({}, {"sh", script_, "${X}"}), ExitedWithCode(7), "X= arg=..X.");
}

TEST_F(WithTest, ACommandThatDoesNotTakeTheSettingIsTold) {
  promote(script(script_), 42, {"sh", script_, "--x-value", "{X}"});
  EXPECT_EXIT(run({}, {"sh", script_}), ExitedWithCode(7),
              "hocket: the command has no .X., so it runs without that value unless it reads the "
              "environment variable X; the study ran: sh .*train.sh --x-value .*\nhocket: X=42: ");
  EXPECT_THAT(fetch({"--format", "args", "--", "sh", script_}).err,
              HasSubstr("the command has no {X}"));
  EXPECT_THAT(fetch({"--format", "args", "--", "sh", script_, "{X}"}).err,
              Not(HasSubstr("the command has no")));
}

TEST_F(WithTest, AMisspeltPlaceholderIsAnError) {
  promote(script(script_), 42);
  const auto answer = ask_hocket({"with", "--store", path_, "--", "sh", script_, "{Y}"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("no value for {Y}; did you mean \"X\""));
  EXPECT_EQ(fetch({"--format", "args", "--", "sh", script_, "{Y}"}).status, 2);
  EXPECT_EXIT(run({}, {"sh", script_, "{print_all}"}), ExitedWithCode(7),
              "no value for .print_all., which stays as it is\n.*arg=.print_all.");
}

TEST_F(WithTest, ANameOrAStudyChooses) {
  promote({.name = "mine", .parameters = {{"X", "int"}}}, 1);
  const auto first = promote(script(script_), 2);
  promote(script(script_), 3);
  const auto study = must(store_->study(std::to_string(*first.study_id))).name;
  EXPECT_EXIT(run({"--workload", "mine"}, {"sh", script_}), ExitedWithCode(7), "X=1 arg");
  EXPECT_EXIT(run({"--study", study}, {"sh", script_}), ExitedWithCode(7), "X=2 arg");
  EXPECT_EXIT(run({}, {"sh", script_}), ExitedWithCode(7), "X=3 arg");
}

TEST_F(WithTest, AfterGoingBackToTheDefaultTheCommandHasItsOwn) {
  promote(script(script_), 42);
  const ConfigKey key{fingerprint(must(probe_topology())), fingerprint(script(script_))};
  must(roll_back(*store_, key, NoConfiguration{}, "ada", ""));
  EXPECT_EXIT(run({}, {"sh", script_}), ExitedWithCode(7), "nothing is promoted for .*\nX= arg=");
}

TEST_F(WithTest, ACommandThatCannotStartIsAnError) {
  const auto answer = ask_hocket({"with", "--store", path_, "--", "/no/such/program"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("cannot start /no/such/program"));
}

TEST_F(WithTest, ADaemonIsAskedAsWell) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the daemon's threads may hold locks at a fork
  const RunningDaemon daemon(*store_);
  promote(script(script_), 42);
  const auto with_daemon = [&](const Words& command) {
    Words arguments = {"with", "--daemon", daemon.url(), "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return run_hocket(arguments, std::cout, std::cerr, 0);
  };
  EXPECT_EXIT(with_daemon({"sh", script_, "{X}"}), ExitedWithCode(7), "X=42 arg=42");
  const auto env =
      ask_hocket({"fetch", "--workload", "train.sh", "--format", "env", "--daemon", daemon.url()});
  EXPECT_EQ(env.out, "X=42\n") << env.err;
}

TEST_F(WithTest, TheCommandRunsWhateverAStoreOnAServerDoes) {
  for (const auto silence :
       {SilentServer::Silence::from_the_start, SilentServer::Silence::once_ready}) {
    const SilentServer server(silence);
    EXPECT_EXIT(with({"--store", server.store()}), ExitedWithCode(7),
                "^hocket: store [^\n]*; the command runs as it is\nX= arg=\n$");
  }
  const std::string refusing = "postgresql://hocket@127.0.0.1:1/hocket";
  EXPECT_EXIT(with({"--store", refusing}), ExitedWithCode(7),
              "^hocket: store [^\n]*refused[^\n]*; the command runs as it is\nX= arg=\n$");
  EXPECT_EXIT(with({"--store", "postgresql://[::"}), ExitedWithCode(7), "X= arg=");
}

TEST_F(WithTest, TheCommandRunsWhateverADaemonDoes) {
  const SilentServer server(SilentServer::Silence::from_the_start);
  EXPECT_EXIT(with({"--daemon", server.url()}), ExitedWithCode(7),
              "^hocket: the daemon did not answer within [^\n]*; the command runs as it is\nX= ");
  EXPECT_EXIT(with({"--daemon", "http://127.0.0.1:1"}), ExitedWithCode(7), "X= arg=");
  EXPECT_EQ(ask_hocket({"with", "--daemon", "nowhere", "--", "sh", script_}).status, 2);
}

TEST_F(WithTest, TheCommandRunsWhateverIsWrongWithTheFile) {
  promote(script(script_), 42);
  const auto expect_started = [&](const std::string& store, const std::string& why) {
    EXPECT_EXIT(with({"--store", store}), ExitedWithCode(7),
                "^hocket: [^\n]*" + why + "[^\n]*; the command runs as it is\nX= arg=\n$");
  };
  expect_started(folder_.write("other", std::string(5000, 'x')), "not an SQLite database");
  expect_started(folder_.path(), "is not a file");
  {
    // Within a folder that others may enter.
    const TemporaryFolder open_folder;
    std::filesystem::permissions(open_folder.path(), std::filesystem::perms(0755));
    const std::string secret = open_folder.write("secret.db", read_file(path_).value_or(""));
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    EXPECT_EXIT(
        {
          if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) std::exit(1);
          run_hocket({"with", "--store", secret, "--", "true"}, std::cout, std::cerr, 0);
        },
        ExitedWithCode(0), "^hocket: [^\n]*Permission denied[^\n]*; the command runs as it is\n$");
  }
  must(must(sqlite::Connection::open(path_, sqlite::Connection::Mode::create, 0))
           .execute_script("PRAGMA user_version = 1000"));
  expect_started(path_, "1000");
}

TEST_F(WithTest, TheCommandRunsWhileTheFileIsLocked) {
  promote(script(script_), 42);
  store_.reset();
  auto holder = must(sqlite::Connection::open(path_, sqlite::Connection::Mode::create, 0));
  must(holder.execute_script("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"));
  EXPECT_EXIT(with({"--store", path_}), ExitedWithCode(7),
              "^hocket: [^\n]*(locked by another process|did not answer within)[^\n]*; the "
              "command runs as it is\nX= ");
}

TEST_F(WithTest, SeveralSettingsThatFitKeepNoCommandFromStarting) {
  promote({.name = "mine", .program = "/a", .parameters = {{"X", "int"}}}, 1);
  promote({.name = "mine", .program = "/b", .parameters = {{"X", "int"}}}, 2);
  EXPECT_EXIT(with({"--workload", "mine", "--store", path_}), ExitedWithCode(7),
              "2 configurations match[^\n]*; the command runs as it is\nX= ");
}

TEST_F(WithTest, FetchGivesAShellWhatItNeeds) {
  promote(script(script_), 42, {"sh", script_, "--x-value", "{X}"});
  EXPECT_EQ(fetch({"--workload", "train.sh", "--format", "env"}).out, "X=42\n");
  EXPECT_EQ(fetch({"--workload", script_, "--format", "args"}).out, "--x-value 42\n");
  EXPECT_EQ(fetch({"--workload", "train.sh", "--format", "json"}).json(),
            nlohmann::json({{"X", 42}}));
  EXPECT_EQ(fetch({"--workload", "train.sh", "--format", "args", "--", "a b", "-x={X}"}).out,
            "'a b' -x=42\n");
  EXPECT_THAT(fetch({"--workload", "train.sh", "--format", "env"}).err,
              HasSubstr("10.0 % better than the default"));
  EXPECT_EQ(fetch({"--workload", "train.sh", "--format", "yaml"}).status, 2);
  EXPECT_EQ(fetch({"--workload", "train.sh", "--", "a"}).status, 2);
}

TEST_F(WithTest, FetchTakesTheWorkloadFromACommand) {
  promote({.name = "mine", .parameters = {{"X", "int"}}}, 1);
  promote(script(script_), 42, {"sh", script_, "--x-value", "{X}"});
  EXPECT_EQ(fetch({"--format", "args", "--", "nice", "sh", script_, "-x={X}"}).out,
            "nice sh " + script_ + " -x=42\n");
  EXPECT_EQ(fetch({"--format", "env", "--", "sh", script_}).out, "X=42\n");
  EXPECT_THAT(fetch({"--format", "env", "--", "sh", "/no/such.sh"}).err,
              HasSubstr("nothing is promoted for /no/such.sh"));
  EXPECT_THAT(fetch({"--format", "args"}).err, HasSubstr("--workload needs a name"));
  EXPECT_THAT(fetch({}).err, HasSubstr("--workload needs a name"));
}

}  // namespace
}  // namespace hocket
