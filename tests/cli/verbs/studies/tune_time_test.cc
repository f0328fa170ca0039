// Tests hocket tune --max-time, end to end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Never ends in the trials from the `first` one to the `last` one, unless there is a file "go".
std::string blocking(int first, int last) {
  return "if [ {TRIAL} -ge " + std::to_string(first) + " ] && [ {TRIAL} -le " +
         std::to_string(last) +
         " ] && [ ! -e go ]; then exec sleep 1000; fi; echo t=$(( (X - 20) * (X - 20) + 100 ))";
}

std::vector<std::string> tune_in(const std::string& time, const std::string& script,
                                 std::vector<std::string> options = {}) {
  std::vector<std::string> words = {
      "tune",        "--default",        "X=64",    "--param", "X=int:1..64",
      "--objective", "regex:t=([0-9]+)", "--study", "timed",   "--max-time",
      time};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "sh", "-c", script});
  return words;
}

TEST(TuneTime, ATrialThatDoesNotEndLeavesTheTimeForTheConfirmation) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, tune_in("3s", blocking(4, 4), {"--json", "--trials", "8"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("confirmation runs set aside"));
  const auto document = ended.json();
  EXPECT_EQ(document.at("promoted"), true);
  EXPECT_THAT(document.at("stopped").get<std::string>(),
              HasSubstr("the 3 s of --max-time have no room for another trial after 4 trials"));
  EXPECT_EQ(document.at("trials")[3].at("state"), "timeout");
  EXPECT_THAT(document.at("trials")[3].at("message").get<std::string>(),
              HasSubstr("not done within what the 3 s of --max-time left for it"));
}

TEST(TuneTime, WhatIsLeftUnconfirmedIsSaidWithTheCommandThatConfirmsIt) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, tune_in("1s", blocking(4, 99), {"--trials", "3"}));
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("stopped: the 1 s of --max-time were up in a confirmation run"));
  EXPECT_THAT(ended.out, HasSubstr("not promoted: the recommended setting is not confirmed"));
  EXPECT_THAT(ended.out, HasSubstr("to confirm and promote it: hocket tune --resume --study timed "
                                   "--trials 3\n"));
  folder.write("go", "");
  const auto confirmed = hocket_run(
      folder, {"tune", "--resume", "--study", "timed", "--trials", "3", "--max-time", "1h"});
  EXPECT_EQ(confirmed.status, 0) << confirmed.err;
  EXPECT_THAT(confirmed.err, HasSubstr("note: --max-time counts from now"));
  EXPECT_THAT(confirmed.out, HasSubstr("promoted: "));
}

TEST(TuneTime, AFirstTrialThatTakesLongerThanTheWholeIsSaid) {
  for (const auto& options : {std::vector<std::string>{}, {"--workers", "2"}}) {
    const TemporaryFolder folder;
    const auto ended = hocket_run(folder, tune_in("0.2s", blocking(1, 99), options));
    EXPECT_EQ(ended.status, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("the first trial, of the default, was not done within the "
                                     "0.2 s of --max-time and was ended"));
    EXPECT_THAT(ended.err, Not(HasSubstr("--resume")));
  }
}

TEST(TuneTime, WorkersEndInTimeToo) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, tune_in("3s", blocking(3, 4), {"--json", "--workers", "2", "--trials", "9"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.json().at("promoted"), true);
  EXPECT_THAT(ended.json().at("stopped").get<std::string>(), HasSubstr("have no room"));
}

TEST(TunePrints, ALineThatRunsTheCommandFromTheSameStoreUnderTheSameName) {
  const TemporaryFolder folder;
  const std::string job = "echo t=$(( ({X} - 20) * (X - 20) + 100 )) of {X}";
  const auto tune = [&](const std::vector<std::string>& options) {
    auto words = tune_in("1h", job, {"--trials", "3", "--store", "my studies.db"});
    words[8] = "of" + std::to_string(options.size());
    words.insert(words.begin() + 1, options.begin(), options.end());
    return hocket_run(folder, words).out;
  };
  EXPECT_THAT(tune({}), HasSubstr("\nrun with it: hocket with --store 'my studies.db' -- sh -c '"));
  const auto run = hocket_run(folder, {"with", "--store", "my studies.db", "--", "sh", "-c", job});
  EXPECT_THAT(run.out, Not(HasSubstr("{X}"))) << run.err;
  EXPECT_THAT(tune({"--workload", "mine"}),
              HasSubstr("\nrun with it: hocket with --workload mine --store 'my studies.db' -- "));
  EXPECT_EQ(hocket_run(folder, {"with", "--workload", "mine", "--store", "my studies.db", "--",
                                "sh", "-c", job})
                .out,
            run.out);
}

TEST(TuneTime, EndsWithItsTrialsIfTheseAreFirst) {
  const TemporaryFolder folder;
  const auto ended =
      hocket_run(folder, tune_in("1h", blocking(99, 99), {"--json", "--trials", "3"}));
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.json().at("stopped"), "");
  EXPECT_THAT(hocket_run(folder, tune_in("soon", "true")).err, HasSubstr("--max-time: expected a"));
}

}  // namespace
}  // namespace hocket
