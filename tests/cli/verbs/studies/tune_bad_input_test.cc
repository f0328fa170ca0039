// Tests the error messages for invalid commands and arguments.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name, script, message;
};

class FailingCommand : public ::testing::TestWithParam<Case> {};

TEST_P(FailingCommand, IsKeptWithItsReasonAndEndsWithTwo) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(
      folder, {"tune", "--param", "X=int:1..9", "--trials", "2", "--objective", "regex:t=(\\S+)",
               "--timeout", "60", "--keep-going", "--json", "--", "sh", "-c", GetParam().script});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("hocket: none of 2 trials completed"));
  EXPECT_THAT(ended.err, HasSubstr(GetParam().message));
  const auto document = ended.json();
  EXPECT_EQ(document.at("promoted"), false);
  EXPECT_EQ(document.at("best").at("value"), nullptr);
  ASSERT_EQ(document.at("trials").size(), 2U);
  EXPECT_EQ(document.at("trials")[0].at("state"), "failed");
  EXPECT_EQ(document.at("trials")[0].at("value"), nullptr);
  EXPECT_THAT(document.at("trials")[0].at("message").get<std::string>(),
              HasSubstr(GetParam().message));
  EXPECT_EQ(hocket_run(folder, {"best"}).status, 0);
}

INSTANTIATE_TEST_SUITE_P(Tune, FailingCommand,
                         ::testing::Values(Case{"Status", "echo why >&2; exit 4", "exit status 4"},
                                           Case{"Signal", "kill -SEGV $$", "SIGSEGV"},
                                           Case{"NoMetric", "echo nothing here", "no match"},
                                           Case{"Nan", "echo t=nan", "nan"},
                                           Case{"Negative", "echo t=-3", "at least 0"},
                                           Case{"Infinite", "echo t=1e999", "1e999"}),
                         [](const auto& info) { return info.param.name; });

TEST(TuneBadInput, ATrialOverItsLimitIsATimeout) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, {"tune", "--param", "X=int:1..2", "--trials", "1",
                                         "--timeout", "1ms", "--json", "--", "sleep", "1000"});
  EXPECT_EQ(ended.status, 2) << ended.err;
  EXPECT_EQ(ended.json().at("trials")[0].at("state"), "timeout");
}

TEST(TuneBadInput, AProgramThatIsNotThereEndsTheSweepAtOnce) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, {"tune", "--", "no-such-program-here"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("hocket: cannot start no-such-program-here"));
  // It does not block studies that can be resumed.
  const auto resumed = hocket_run(folder, {"tune", "--resume"});
  EXPECT_EQ(resumed.status, 2);
  EXPECT_THAT(resumed.err, HasSubstr("no unfinished study"));
}

TEST(TuneBadInput, IsRefusedInOneLineBeforeAnythingIsWritten) {
  const std::vector<std::string> ls = {"--", "ls"};
  const struct {
    std::vector<std::string> arguments;
    const char* message;
  } cases[] = {
      {{"tune", "--trials", "0"}, "trials: expected a number from 1"},
      {{"tune", "--trials", "-1"}, "trials: expected a number from 1"},
      {{"tune", "--trials", "many"}, "--trials"},
      {{"tune", "--confirm", "-1"}, "confirm: expected a number from 0"},
      {{"tune", "--seed", "-1"}, "seed"},
      {{"tune", "--skip", "-1"}, "skip"},
      {{"tune", "--param", "X=int:1..1"}, "single point"},
      {{"tune", "--param", "X=int:5..1"}, "X"},
      {{"tune", "--param", "X"}, "X"},
      {{"tune", "--param", "streams=int:1..1000000"}, "streams"},
      {{"tune", "--default", "streams=1000000"}, "streams"},
      {{"tune", "--default", "nothing=1"}, "nothing"},
      {{"tune", "--timeout", "0"}, "--timeout"},
      {{"tune", "--timeout", "soon"}, "--timeout"},
      {{"tune", "--objective", "luck"}, "objective"},
      {{"tune", "--objective", "regex:("}, "regular expression"},
      {{"tune", "--objective", "wall", "--objective", "luck"}, "found \"luck\""},
      {{"tune", "--objective", "wall", "--objective", "wall"}, "wall is given twice"},
      {{"tune", "--objective", "auto", "--objective", "wall"}, "auto may become wall"},
      {{"tune", "--objective", "wall", "--objective", "memory", "--transfer", "s"}, "--transfer"},
      {{"tune", "--objective", "wall", "--objective", "memory", "--method", "tpe"}, "not by tpe"},
      {{"tune", "--limit", "memory"}, "expected OBJECTIVE<=NUMBER"},
      {{"tune", "--limit", "memory<=much"}, "expected a number of bytes"},
      {{"tune", "--limit", "luck<=1"}, "found \"luck\""},
      {{"tune", "--limit", "regex:(<=1"}, "regular expression"},
      {{"tune", "--no-such-option"}, "--no-such-option"},
      {{"tune", "--take-over"}, "--resume"},
      {{"tune", "ls"}, "\"--\""},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.arguments[1]);
    const TemporaryFolder folder;
    auto arguments = each.arguments;
    arguments.insert(arguments.end(), ls.begin(), ls.end());
    const auto ended = hocket_run(folder, arguments);
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, ::testing::StartsWith("hocket: "));
    EXPECT_THAT(ended.err, HasSubstr(each.message));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1);
    EXPECT_FALSE(std::filesystem::exists(folder.file("store.db")));
  }
}

TEST(TuneBadInput, ANameThatIsTakenOrImpossible) {
  const TemporaryFolder folder;
  const auto tune = [&](const std::string& name) {
    return hocket_run(
        folder, {"tune", "--param", "X=int:1..2", "--study", name, "--confirm", "0", "--", "true"});
  };
  EXPECT_EQ(tune("mine").status, 3);
  const auto taken = tune("mine");
  EXPECT_EQ(taken.status, 2);
  EXPECT_THAT(taken.err, HasSubstr("mine"));
  EXPECT_EQ(tune("a b").status, 2);
  EXPECT_EQ(tune("12").status, 2);
}

TEST(TuneBadInput, ResultsThatCannotBeWrittenAreAFailure) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, {"run", "--ranks", "1", "--", "sh", "-c",
                                         std::string(HOCKET_PROGRAM) + " topology >/dev/full"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("standard output"));
}

}  // namespace
}  // namespace hocket
