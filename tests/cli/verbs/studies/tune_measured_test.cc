// Tests what hocket tune takes for a measurement, with programs as people have them: iterations
// that are slow at first, numbers as people read them, runs that die behind a pipe, results in
// files, braces of others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include "tests/cli/program.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

/// `hocket tune` of a grid of `levels` of B with this default; the first of them if it is empty.
Ended tune(const TemporaryFolder& folder, const std::string& levels, const Words& options,
           const Words& command, const std::string& by_default = "") {
  const auto count = std::ranges::count(levels, ',') + 1;
  Words arguments = {
      "tune",      "--method",
      "grid",      "--all-trials",
      "--json",    "--no-transfer",
      "--trials",  std::to_string(count),
      "--param",   "B=levels:" + levels,
      "--default", "B=" + (by_default.empty() ? levels.substr(0, levels.find(',')) : by_default)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back("--");
  arguments.insert(arguments.end(), command.begin(), command.end());
  return hocket_run(folder, arguments);
}

std::int64_t winner(const Ended& ended) {
  return ended.json().at("best").at("params").at("B");
}

/// Values of the trials of the search by B, null for those that failed.
nlohmann::json values(const Ended& ended) {
  nlohmann::json all = nlohmann::json::object();
  const auto document = ended.json();
  for (const auto& trial : document.at("trials")) {
    if (trial.at("phase") != "search") continue;
    all[std::to_string(trial.at("params").at("B").get<int>())] = trial.at("value");
  }
  return all;
}

/// Awk that prints 46 iterations, of which the first 6 are slow whatever B is.
constexpr const char* kSlowAtFirst =
    "BEGIN { ms[4] = 20; ms[8] = 17; ms[16] = 13; ms[32] = 10; ms[64] = 12; srand(b);"
    " for (i = 0; i < 46; ++i)"
    " printf \"step_ms=%.3f\\n\", (i < 6 ? 200 - 15 * i : ms[b]) * (0.95 + rand() / 10) }";

TEST(TuneMeasured, IterationsThatAreSlowAtFirstInEveryRunDoNotCount) {
  const TemporaryFolder folder;
  const auto ended = tune(folder, "4,8,16,32,64", {"--objective", "regex:step_ms=([0-9.]+)"},
                          {"awk", "-v", "b={B}", kSlowAtFirst});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(winner(ended), 32);
  const auto document = ended.json();
  EXPECT_NEAR(document.at("gain").get<double>(), 0.5, 0.05);
  const auto& first = document.at("trials")[0];
  EXPECT_NEAR(first.at("value").get<double>(), 20, 1);
  EXPECT_EQ(first.at("message"), "without its first 6 of 46 measurements, which are warm-up");
}

TEST(TuneMeasured, SkipSaysHowLongTheWarmUpIs) {
  const TemporaryFolder folder;
  const auto ended = tune(folder, "4,32", {"--objective", "regex:step_ms=([0-9.]+)", "--skip", "0"},
                          {"awk", "-v", "b={B}", kSlowAtFirst});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const auto document = ended.json();
  for (const auto& trial : document.at("trials")) EXPECT_EQ(trial.at("message"), "");
}

/// Awk that prints a rate of 12,000 less 900 for each halving of B below 64 as `format` says.
Words rate(const std::string& format) {
  return {
      "awk",
      "-v",
      "b={B}",
      "-v",
      "form=" + format,
      "BEGIN { srand(b); for (i = 0; i < 20; ++i) {"
      " r = int((12000 - 900 * sqrt((log(b / 64) / log(2)) ^ 2)) * (0.99 + rand() / 50));"
      " text = form == \"comma\" ? int(r / 1000) \",\" sprintf(\"%03d\", r % 1000) :"
      " form == \"exponent\" ? sprintf(\"%.4e\", r) :"
      " form == \"kilo\" ? sprintf(\"%.2fk\", r / 1000) :"
      " form == \"word\" && b < 8 ? \"1.#INF\" : form == \"nan\" && b == 64 && i == 9 ? \"nan\" :"
      " form == \"transfer\" && r >= 10000 ? sprintf(\"%.3fGB/s\", r / 1000) :"
      " form == \"transfer\" ? r \"MB/s\" : r;"
      " print \"step \" i \" rate=\" text \" per second\" } }"};
}

TEST(TuneMeasured, ANumberCountsWholeHoweverItIsPrinted) {
  for (const char* format : {"comma", "exponent", "kilo", "transfer", "plain"}) {
    SCOPED_TRACE(format);
    const TemporaryFolder folder;
    const auto ended = tune(folder, "1,4,16,25,64,256", {"--objective", "max:regex:rate=([0-9.]+)"},
                            rate(format), "25");
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(winner(ended), 64);
    // The default prints GB/s.
    const double usual = std::string_view(format) == "transfer" ? 12 : 12000;
    EXPECT_NEAR(ended.json().at("best").at("value").get<double>() / usual, 1, 0.01);
  }
  const TemporaryFolder folder;
  const auto ended = tune(folder, "1,4,16,25,64,256", {"--objective", "max:regex:rate=([0-9.,]+)"},
                          rate("comma"), "25");
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(winner(ended), 64);
}

TEST(TuneMeasured, ARunThatDivergedHasFailed) {
  const TemporaryFolder folder;
  const Words objective = {"--objective", "max:regex:rate=([0-9.]+)"};
  const auto word = tune(folder, "1,4,16,25,64,256", objective, rate("word"), "25");
  EXPECT_EQ(winner(word), 64) << word.err;
  EXPECT_TRUE(values(word).at("1").is_null());
  EXPECT_TRUE(values(word).at("4").is_null());
  EXPECT_THAT(word.err, HasSubstr("matched \"1.\" of \"1.#INF\""));
  const auto nan = tune(folder, "25,64,256", objective, rate("nan"));
  EXPECT_TRUE(values(nan).at("64").is_null()) << "one of its twenty is no number";
  EXPECT_NE(winner(nan), 64);
}

/// Bash that prints 60 iterations, or dies after 12 above 32.
Words dying(const std::string& end) {
  return {"bash", "-c",
          "awk -v b={B} 'BEGIN { for (i = 0; i < 60; ++i) { if (b > 32 && i == 12) exit 1; "
          "print \"step_ms=\" 80 - b + i % 2 / 10 } }'" +
              end};
}

TEST(TuneMeasured, ARunThatDiedIsNeverPromoted) {
  for (const char* end : {" | tee log", " 2>&1 | cat | tee log", "; true"}) {
    SCOPED_TRACE(end);
    const TemporaryFolder folder;
    const auto ended = tune(folder, "1,8,16,24,32,40,50,64",
                            {"--objective", "regex:step_ms=([0-9.]+)"}, dying(end), "8");
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(winner(ended), 32);
    for (const char* dead : {"40", "50", "64"}) EXPECT_TRUE(values(ended).at(dead).is_null());
  }
}

TEST(TuneMeasured, FewerMeasurementsCountWhereTheUserSaysSo) {
  const TemporaryFolder folder;
  const auto ended = tune(
      folder, "8,64", {"--objective", "regex:step_ms=([0-9.]+)", "--allow-fewer"}, dying("; true"));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(winner(ended), 64);
}

/// A shell that writes 100 + |B - 7|, with B as the decimals, to the file `out`.
Words writing(const std::string& out) {
  return {"sh", "-c",
          "d=$(( {B} - 7 )); echo $(( 100 + ${d#-} )).$(( {B} / 10 ))$(( {B} % 10 )) > " + out};
}

TEST(TuneMeasured, SeveralWorkersNeverShareAFile) {
  const TemporaryFolder folder;
  const auto one = tune(folder, "1,2,7", {"--workers", "4", "--objective", "file:result.txt"},
                        writing("result.txt"));
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.err, HasSubstr("would write one file, result.txt"));
  EXPECT_THAT(one.err, HasSubstr("file:result-{TRIAL}.txt"));
  const auto limit = tune(
      folder, "1,2,7", {"--workers", "4", "--objective", "wall", "--limit", "file:loss<=1"}, {"a"});
  EXPECT_THAT(limit.err, HasSubstr("would write one file, loss"));
}

TEST(TuneMeasured, FilesOfTrialsHaveTheirNamesFilledIn) {
  for (const char* name : {"{B}", "{TRIAL}", "{WORKER}"}) {
    for (const char* workers : {"1", "4"}) {
      SCOPED_TRACE(name);
      const TemporaryFolder folder;
      const std::string file = "result-" + std::string(name) + ".txt";
      const auto ended = tune(folder, "1,2,3,4,5,7,9,11",
                              {"--workers", workers, "--objective", "file:" + file}, writing(file));
      ASSERT_EQ(ended.status, 0) << ended.err;
      EXPECT_EQ(winner(ended), 7);
      EXPECT_EQ(values(ended), (nlohmann::json{{"1", 106.01},
                                               {"2", 105.02},
                                               {"3", 104.03},
                                               {"4", 103.04},
                                               {"5", 102.05},
                                               {"7", 100.07},
                                               {"9", 102.09},
                                               {"11", 104.11}}));
    }
  }
}

TEST(TuneMeasured, BracesOfAShellAreTheShells) {
  const TemporaryFolder folder;
  const Words objective = {"--objective", "regex:step_ms=([0-9.]+)"};
  for (const char* text : {"b=${B}; echo step_ms=$(( b > 40 ? b - 20 : 60 - b ))",
                           "b=$B; echo step_ms=$(( b > 40 ? b - 20 : 60 - b ))"}) {
    const auto ended = tune(folder, "16,32,64", objective, {"sh", "-c", text});
    ASSERT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(values(ended), (nlohmann::json{{"16", 44}, {"32", 28}, {"64", 44}}));
    EXPECT_THAT(ended.err, Not(HasSubstr("the command has no")));
  }
}

TEST(TuneMeasured, AMisspeltNameIsAnErrorBeforeATrialIsSpent) {
  const TemporaryFolder folder;
  const Words objective = {"--objective", "wall"};
  for (const Words& command : {Words{"sh", "-c", "echo > ran", "{TRAIL}"}, {"touch", "ran{BB}"}}) {
    const auto ended = tune(folder, "16,32", objective, command);
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr("is no parameter; did you mean"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("ran")));
  const auto file = tune(folder, "16,32", {"--objective", "file:out-{TRIEL}"}, {"true"});
  EXPECT_THAT(file.err, HasSubstr("{TRIEL} is no parameter; did you mean \"TRIAL\""));
}

TEST(TuneMeasured, BracesThatNobodyDeclaredStay) {
  const TemporaryFolder folder;
  const auto ended = tune(
      folder, "16,32", {"--objective", "regex:step_ms=([0-9.]+)"},
      {"sh", "-c", "test \"$0\" = 'logs_{rank_of_job}' && echo step_ms={B}", "logs_{rank_of_job}"});
  EXPECT_EQ(ended.status, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("{rank_of_job} is no parameter and stays as it is"));
}

TEST(TuneMeasured, ABarOfMegabytesIsMeasuredToItsEnd) {
  for (const char* end : {"\\r", "\\033[2K\\033[1G", "\\b\\b\\b"}) {
    SCOPED_TRACE(end);
    const TemporaryFolder folder;
    const auto ended =
        tune(folder, "16,32", {"--full-trials", "--objective", "regex:step_ms=([0-9.]+)"},
             {"awk", "-v", "b={B}",
              "BEGIN { for (i = 0; i < 60000; ++i) printf \"%d%% |##########          | a bar of a "
              "hundred characters or so, as a program shows it, step_ms=%s " +
                  std::string(end) + "\", i / 600, i < 30 ? 90000 : b; if (b > 16) exit 3 }"});
    EXPECT_EQ(ended.status, 3) << ended.err;
    const auto trials = ended.json().at("trials");
    EXPECT_EQ(trials[0].at("value"), 16);
    const std::string message = trials[1].at("message");
    EXPECT_THAT(message, HasSubstr(" 99% |##########"));
    EXPECT_THAT(message, Not(HasSubstr("98%")));
  }
}

}  // namespace
}  // namespace hocket
