// Tests hocket tune with several objectives, end to end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>

#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// A trade-off in X between time and size; X = 9 has no size.
constexpr const char* kTradeOff = "echo t=$((1000 - {X} * 10)); test $X = 9 || echo m=$((X * X))";

std::vector<std::string> tune_front(std::vector<std::string> options) {
  std::vector<std::string> arguments = {
      "tune",    "--objective", "regex:t=([0-9]+)", "--objective", "regex:m=([0-9]+)",
      "--param", "X=int:1..20", "--default",        "X=5",         "--trials",
      "12"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"--", "sh", "-c", kTradeOff});
  return arguments;
}

TEST(TuneFront, EveryVerbShowsTheFrontAndNothingIsPromoted) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, tune_front({"--json"}));
  ASSERT_EQ(ended.status, 3) << ended.err;
  const auto document = ended.json();
  EXPECT_EQ(document.at("promoted"), false);
  EXPECT_EQ(document.at("fetch"), nullptr);
  EXPECT_EQ(document.at("objectives").size(), 2U);
  EXPECT_EQ(document.at("objectives")[1].at("objective"), "regex:m=([0-9]+)");
  // The default and four points run again, twice each, as they measure the same every time.
  ASSERT_EQ(document.at("trials").size(), 12U + 2 * 5);
  std::size_t complete = 0, again = 0;
  for (const auto& trial : document.at("trials")) {
    const std::int64_t x = trial.at("params").at("X");
    EXPECT_EQ(trial.at("state"), x == 9 ? "failed" : "complete");
    if (x == 9) {
      EXPECT_THAT(trial.at("message").get<std::string>(),
                  HasSubstr("objective regex:m=([0-9]+): no"));
      continue;
    }
    complete += trial.at("phase") == "search" ? 1 : 0;
    EXPECT_EQ(trial.at("value"), 1000 - x * 10);
    EXPECT_EQ(trial.at("others"), nlohmann::json({x * x}));
  }
  // Each setting trades one objective for the other.
  EXPECT_EQ(document.at("front").size(), complete);
  for (const auto& point : document.at("front")) again += point.at("state") == "confirmed" ? 1 : 0;
  EXPECT_EQ(again, 4U);
  EXPECT_THAT(ended.err, HasSubstr("trial 1/12  X=5  950 ± 0, 25"));

  EXPECT_EQ(hocket_run(folder, {"best", "--json"}).json().at("front"), document.at("front"));
  EXPECT_EQ(hocket_run(folder, {"trials", "sh-1", "--json"}).json().at("trials"),
            document.at("trials"));
  const auto best = hocket_run(folder, {"best"});
  EXPECT_EQ(best.status, 0) << best.err;
  EXPECT_THAT(best.out, HasSubstr("\ndefault  950 ± 0"));
  EXPECT_THAT(best.out, HasSubstr("  confirmed in 2 more runs  X="));
  EXPECT_THAT(best.out, HasSubstr("  measured once             X="));
  EXPECT_THAT(best.out, HasSubstr("take one into use by giving it to the job, trial "));
  EXPECT_THAT(hocket_run(folder, {"studies"}).out,
              HasSubstr("a front of " + std::to_string(complete) + ", 4 confirmed"));
  EXPECT_EQ(hocket_run(folder, {"fetch", "--workload", "sh"}).status, 2);

  const auto csv = hocket_run(folder, {"trials", "sh-1", "--csv"});
  folder.write("study.csv", csv.out);
  for (const std::string column : {"objective:regex:t=([0-9]+)", "objective:regex:m=([0-9]+)"}) {
    const auto replayed = hocket_run(
        folder, {"replay", "study.csv", "--objective-column", column, "--trials", "12", "--json"});
    ASSERT_EQ(replayed.status, 0) << replayed.err;
    const auto document = replayed.json();
    for (const auto& trial : document.at("trials")) {
      const std::int64_t x = trial.at("params").at("X");
      EXPECT_EQ(trial.at("params").size(), 1U);
      if (x == 9) continue;
      EXPECT_EQ(trial.at("value"), column.find("m=") != column.npos ? x * x : 1000 - x * 10);
    }
  }
}

TEST(TuneFront, APointIsPromotedByItsNumber) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder, tune_front({"--json"}));
  ASSERT_EQ(ended.status, 3) << ended.err;
  const auto best = hocket_run(folder, {"best"}).out;
  EXPECT_THAT(best, HasSubstr("promote one of them by its number: hocket studies promote sh-1 "));
  const auto front = ended.json().at("front");
  const auto point =
      std::ranges::find_if(front, [](const auto& each) { return each.at("state") == "confirmed"; });
  ASSERT_NE(point, front.end());
  const std::string number = point->at("number").dump();
  EXPECT_THAT(hocket_run(folder, {"studies", "promote", "sh-1", "99"}).err,
              HasSubstr("trial 99 is not on the front; the trials on it are "));
  EXPECT_THAT(hocket_run(folder, {"studies", "promote", "sh-1", "1"}).status, 2);
  const auto promoted = hocket_run(folder, {"studies", "promote", "sh-1", number, "--json"});
  ASSERT_EQ(promoted.status, 0) << promoted.err;
  EXPECT_EQ(promoted.json().at("params"), point->at("params"));
  EXPECT_EQ(promoted.err, "");
  const auto with = hocket_run(folder, {"with", "--study", "sh-1", "--", "sh", "-c", "echo $X"});
  EXPECT_EQ(with.out, point->at("params").at("X").dump() + "\n") << with.err;
}

/// Writes its process id in its sixth run and blocks, unless the file "go" exists.
constexpr const char* kStay =
    "echo run >>runs; if [ $(wc -l <runs) = 6 ] && [ ! -e go ]; then exec 3>pids; echo $$ >&3; "
    "exec sleep 1000; fi; ";

TEST(TuneFront, GoesOnAsIfNobodyHadStoppedIt) {
  auto arguments = tune_front({"--json"});
  arguments.back() = kStay + arguments.back();
  const TemporaryFolder undisturbed;
  undisturbed.write("go", "");
  const auto expected = hocket_run(undisturbed, arguments).json();

  const TemporaryFolder folder;
  Fifo fifo(folder.file("pids"));
  Program program(folder, arguments);
  EXPECT_EQ(fifo.read_pids(1).size(), 1U);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().status, 130);
  folder.write("go", "");
  const auto resumed = hocket_run(folder, {"tune", "--resume", "--json"});
  ASSERT_EQ(resumed.status, 3) << resumed.err;
  const auto document = resumed.json();
  EXPECT_EQ(document.at("front"), expected.at("front"));
  ASSERT_EQ(document.at("trials").size(), expected.at("trials").size());
  for (std::size_t i = 0; i < document.at("trials").size(); ++i)
    EXPECT_EQ(document.at("trials")[i].at("params"), expected.at("trials")[i].at("params")) << i;
}

}  // namespace
}  // namespace hocket
