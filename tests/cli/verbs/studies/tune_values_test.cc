// Tests values that leave a parameter out, booleans, and variables by which programs find others:
// from hocket tune to hocket with and hocket fetch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class TuneValues : public ::testing::Test {
 protected:
  /// Writes the job: its time is `seconds` of the words and of the variable ALGO, which it prints.
  void SetUp() override {
    std::ofstream(folder_.file("job.sh"))
        << "echo algo=${ALGO-absent} words=$*\n"
           "case ${ALGO-absent}$* in absent) t=10;; *on*) t=20;; *) t=30;; esac\necho t=$t\n";
  }

  Ended tune(Words options, const Words& words = {},
             const Program::Environment& environment = {{"ALGO", "inherited"}}) {
    options.insert(options.begin(), {"tune", "--objective", "regex:t=([0-9]+)", "--method", "grid",
                                     "--all-trials", "--confirm", "2", "--no-transfer"});
    options.insert(options.end(), {"--", "sh", "job.sh"});
    options.insert(options.end(), words.begin(), words.end());
    return hocket_run(folder_, options, environment);
  }

  std::string log(const char* study, int number) {
    return hocket_run(folder_, {"trials", study, "--log", std::to_string(number)}).out;
  }

  TemporaryFolder folder_;
};

TEST_F(TuneValues, KnobsOfPyTorchAreSearchedByTheIterationsOfTheirTrials) {
  const std::string program =
      "echo started; echo \"50%hocket: iteration_ms=1${HOCKET_TORCH_OPTIMIZE_DDP:+0}\" >&2";
  const auto run = [&](Words options) {
    options.insert(options.begin(), {"tune", "--study", "k", "--knobs", "torch:compile"});
    options.insert(options.end(), {"--", "sh", "-c", program, "hocket", "torch"});
    return hocket_run(folder_, options);
  };
  EXPECT_THAT(run({"--maximize"}).err, HasSubstr("auto is a cost and is minimised"));
  const auto ended = run({"--trials", "2", "--all-trials", "--full-trials"});
  EXPECT_EQ(ended.status, 3) << "nothing is faster than the default";
  EXPECT_THAT(ended.out, HasSubstr("iteration (ms)"));
  EXPECT_THAT(ended.out, HasSubstr("\ndefault  1 ± 0 ms  HOCKET_TORCH_OPTIMIZE_DDP=unset"));
  EXPECT_THAT(ended.err, Not(HasSubstr("which some programs take for true"))) << "hocket reads it";
}

TEST_F(TuneValues, WhatIsUnsetIsAbsentInTrialsAndLater) {
  const auto ended = tune({"--study", "s", "--trials", "3", "--param", "ALGO=Ring,unset,\\unset"},
                          {"--algo", "{ALGO}"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(log("s", 1), HasSubstr("algo=Ring words=--algo Ring\n"));
  std::string all;
  for (int number = 2; number <= 3; ++number) all += log("s", number);
  EXPECT_THAT(
      all, AllOf(HasSubstr("algo=absent words=\n"), HasSubstr("algo=unset words=--algo unset\n")));
  const auto best = hocket_run(folder_, {"best", "s", "--json"}).json();
  EXPECT_EQ(best.at("best").at("params").at("ALGO"), "unset");

  const Program::Environment environment = {{"ALGO", "inherited"}};
  const auto with =
      hocket_run(folder_, {"with", "--", "sh", "job.sh", "--algo", "{ALGO}"}, environment);
  EXPECT_THAT(with.out, HasSubstr("algo=absent words=\n")) << with.err;
  const auto fetch = [&](const char* format, const Words& command) {
    Words arguments = {"fetch", "--format", format};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return hocket_run(folder_, arguments).out;
  };
  const Words job = {"--", "sh", "job.sh"};
  EXPECT_EQ(fetch("env", job), "-u ALGO\n");
  EXPECT_EQ(fetch("sh", job), "unset ALGO\n");
  EXPECT_EQ(fetch("args", {"--", "sh", "job.sh", "--algo={ALGO}"}), "sh job.sh\n");
  EXPECT_EQ(fetch("args", {"--workload", "job.sh"}), "\n") << "no option of env among the words";
}

TEST_F(TuneValues, AnAbsentVariableIsADefault) {
  const Words options = {"--trials",     "2", "--param", "ALGO=Ring,unset", "--default-from-env",
                         "--allow-fewer"};
  const auto absent = tune(options, {}, {});
  EXPECT_THAT(absent.err, HasSubstr("from the default ALGO=unset (environment)"));
  const auto word = tune({"--trials", "2", "--param", "ALGO=Ring,\\unset", "--default-from-env"},
                         {}, {{"ALGO", "unset"}});
  EXPECT_THAT(word.err, HasSubstr("from the default ALGO=\\unset (environment)"));
}

TEST_F(TuneValues, WhatCannotBeLeftOutIsAnErrorBeforeTheFirstTrial) {
  const auto ended = tune({"--param", "ALGO=Ring,unset"}, {"x{ALGO}y"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("{ALGO} may be left out, and what of \"x{ALGO}y\""));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("store.db"))) << "no study was begun";
}

TEST_F(TuneValues, BooleansAreFalseWhereTheyAreFalse) {
  const auto ended =
      tune({"--study", "b", "--trials", "2", "--param", "ALGO=bool"}, {"{ALGO?--on:--no-on}"});
  ASSERT_EQ(ended.status, 3) << ended.err;
  EXPECT_THAT(log("b", 1), HasSubstr("algo=0 words=--no-on\n"));
  EXPECT_THAT(log("b", 2), HasSubstr("algo=1 words=--on\n"));
  EXPECT_THAT(ended.err, Not(HasSubstr("take for true")));

  const auto words =
      tune({"--trials", "2", "--param", "ALGO=choice:True,False"}, {"--on", "{ALGO}"});
  EXPECT_THAT(words.err, HasSubstr("note: the command gets the word False for {ALGO}, which some "
                                   "programs take for true"));
}

TEST_F(TuneValues, AVariableByWhichProgramsFindOthersNeedsConsent) {
  const Words options = {"--study", "v", "--trials", "2", "--param", "MASTER_PORT=levels:1,2"};
  const auto refused = tune(options);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--param MASTER_PORT: MASTER_PORT is a launcher's"));
  EXPECT_THAT(refused.err, HasSubstr("add --allow-variable MASTER_PORT"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("store.db"))) << "no study was begun";

  std::ofstream(folder_.file("job.sh")) << "echo p=$MASTER_PORT t=$((30 / MASTER_PORT))\n";
  Words allowed = options;
  allowed.insert(allowed.end(), {"--allow-variable", "MASTER_PORT"});
  ASSERT_EQ(tune(allowed).status, 0);
  // A stored setting is held to the same table.
  const auto with = hocket_run(folder_, {"with", "--", "sh", "job.sh"}, {{"MASTER_PORT", "3"}});
  EXPECT_THAT(with.out, HasSubstr("p=3 "));
  EXPECT_THAT(with.err, HasSubstr("the setting has MASTER_PORT, which is a launcher's"));
  const auto fetched = hocket_run(folder_, {"fetch", "--format", "env", "--", "sh", "job.sh"});
  EXPECT_EQ(fetched.status, 2);
  EXPECT_EQ(fetched.out, "");
  const auto applied =
      hocket_run(folder_, {"with", "--allow-variable", "MASTER_PORT", "--", "sh", "job.sh"});
  EXPECT_THAT(applied.out, HasSubstr("p=2 ")) << applied.err;
}

}  // namespace
}  // namespace hocket
