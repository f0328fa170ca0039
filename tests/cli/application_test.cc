#include "cli/application.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/base/context.h"
#include "tests/cli/answer.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(Application, HelpsAndSaysItsVersionOnStdout) {
  const auto help = ask_hocket({"--help"});
  EXPECT_EQ(help.status, kDone);
  for (const char* verb : {"tune", "run", "simulate", "replay", "explain", "plot", "tape",
                           "studies", "trials", "best", "fetch", "topology", "Examples"}) {
    EXPECT_THAT(help.out, HasSubstr(verb));
  }
  EXPECT_EQ(help.err, "");
  const auto version = ask_hocket({"--version"});
  EXPECT_EQ(version.status, kDone);
  EXPECT_THAT(version.out, ::testing::StartsWith("hocket "));
  for (const char* verb : {"tune", "run", "simulate", "replay", "explain", "plot", "tape",
                           "studies", "trials", "best", "fetch", "topology"}) {
    const auto of_verb = ask_hocket({verb, "--help"});
    EXPECT_EQ(of_verb.status, kDone) << verb;
    EXPECT_THAT(of_verb.out, HasSubstr("--json")) << verb;
    EXPECT_THAT(of_verb.out, HasSubstr("Example")) << verb;
  }
}

TEST(Application, AnswersMisuseWithOneLineAndTwo) {
  const std::vector<std::vector<std::string>> misuses = {
      {},
      {"dance"},
      {"--json"},
      {"trials"},
      {"trials", "a", "b"},
      {"fetch"},
      {"fetch", "--workload", ""},
      {"fetch", "--workload", "x", "--world-size", "0"},
      {"best", "--no-such"},
      {"studies", "--", "ls"},
      {"topology", "--"},
      {"run", "--ranks", "two", "--", "ls"},
      {"tune", "--param"},
  };
  for (const auto& arguments : misuses) {
    const auto answer = ask_hocket(arguments);
    SCOPED_TRACE(arguments.empty() ? "" : arguments.back());
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_EQ(answer.out, "");
    EXPECT_THAT(answer.err, ::testing::StartsWith("hocket: "));
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1);
  }
}

TEST(Application, MisuseNamesTheHelpOfItsVerb) {
  EXPECT_EQ(ask_hocket({}).err,
            "hocket: hocket needs a verb; `hocket --help` shows what there is\n");
  EXPECT_EQ(ask_hocket({"profiles"}).err,
            "hocket: hocket profiles needs a verb; `hocket profiles --help` shows what there is\n");
  EXPECT_EQ(ask_hocket({"trials"}).err,
            "hocket: STUDY is required, and `hocket studies` lists them; `hocket trials --help` "
            "shows what there is\n");
  EXPECT_THAT(ask_hocket({"web", "--port", "99999"}).err, HasSubstr("; `hocket web --help` shows"));
  EXPECT_THAT(ask_hocket({"jobs", "--daemon", "localhost"}).err,
              ::testing::StartsWith("hocket: --daemon: the daemon's address must be http://"));
}

TEST(Application, AVerbThatDoesNotExistHasNoHelp) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"tuen", "--help"}, {"tuen"}, {"tuen", "--", "ls"}}) {
    const auto answer = ask_hocket(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.err,
              "hocket: hocket has no verb \"tuen\"; the nearest is \"tune\"; `hocket --help` lists "
              "all\n");
  }
  const auto nested = ask_hocket({"profiles", "prone", "--help"});
  EXPECT_EQ(nested.status, kBadInput);
  EXPECT_THAT(nested.err, HasSubstr("hocket profiles has no verb \"prone\"; the nearest is "
                                    "\"prune\"; `hocket profiles --help` lists all"));
  EXPECT_EQ(ask_hocket({"profiles", "prune", "--help"}).status, kDone);
  EXPECT_EQ(ask_hocket({"best", "a-study", "--help"}).status, kDone) << "a study is no verb";
}

TEST(Application, NamesTheOptionThatAMisspeltOneIsNearestTo) {
  const auto error_of = [](const std::vector<std::string>& arguments) {
    const auto answer = ask_hocket(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    return answer.err;
  };
  EXPECT_THAT(error_of({"tune", "--parm", "X=int:1..2", "--", "true"}),
              HasSubstr("; did you mean --param;"));
  EXPECT_THAT(error_of({"serve", "--port", "7077"}), HasSubstr("; did you mean --listen;"));
  EXPECT_THAT(error_of({"simulate", "--sweeep=order=fifo"}), HasSubstr("; did you mean --sweep;"));
  EXPECT_THAT(error_of({"profiles", "show", "name", "--jsno"}),
              HasSubstr("; did you mean --json;"));
}

TEST(Application, ListsUnexpectedArgumentsInTheirOrder) {
  EXPECT_EQ(ask_hocket({"topology", "--ranks", "64", "--link=network=25gbit", "more"}).err,
            "hocket: hocket topology does not know --ranks 64 --link=network=25gbit more; `hocket "
            "topology --help` shows what there is\n");
  EXPECT_EQ(ask_hocket({"profiles", "show", "name", "--no-such"}).err,
            "hocket: hocket profiles show does not know --no-such; `hocket profiles show --help` "
            "shows what there is\n");
  for (const char* verb : {"run", "tune", "with", "fetch"}) {
    std::vector<std::string> arguments = {verb, "--no-such", "./train"};
    if (verb == std::string("run")) arguments.insert(arguments.end(), {"--ranks", "2"});
    const auto answer = ask_hocket(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_THAT(answer.err, HasSubstr(std::string(verb) + " does not know --no-such ./train; a "
                                                          "command to run goes behind \"--\"; "));
  }
}

TEST(Application, ReadsNoStoreThatIsNotThere) {
  const TemporaryFolder folder;
  const std::string path = folder.file("none.db");
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"studies"}, {"best"}, {"trials", "1"}, {"fetch", "--workload", "x"}}) {
    auto with_store = arguments;
    with_store.insert(with_store.end(), {"--store", path});
    const auto answer = ask_hocket(with_store);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_THAT(answer.err, HasSubstr("nothing is tuned yet"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Application, ShowsThisHost) {
  const auto answer = ask_hocket({"topology", "--json"});
  ASSERT_EQ(answer.status, kDone) << answer.err;
  const auto document = nlohmann::json::parse(answer.out);
  EXPECT_EQ(document.at("fingerprint").get<std::string>().size(), 36U);
  EXPECT_GT(document.at("topology").at("hardware_threads"), 0);
  EXPECT_EQ(document.at("accelerators") > 0, document.at("topology").contains("accelerator"));
  EXPECT_THAT(ask_hocket({"topology"}).out,
              HasSubstr(document.at("fingerprint").get<std::string>()));
}

TEST(Application, ResultsThatCannotBeWrittenAreAFailure) {
  std::ostringstream out, err;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(run_hocket({"topology"}, out, err, 0), kFailed);
  EXPECT_THAT(err.str(), HasSubstr("standard output"));
}

}  // namespace
}  // namespace hocket
