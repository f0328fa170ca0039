#include "tuner/trial/command_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <thread>

#include "tests/odd_files.h"
#include "tests/tuner/trial/command_runner_fixture.h"
#include "tuner/trial/early_end.h"
#include "tuner/trial/warm_up.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Returns the text of a report of two iterations, 20 and 10 ns, under two streams.
std::string report_text() {
  RunReport report;
  report.config.streams = 2;
  report.config_source = "trial";
  report.iterations = {{20, 5, 6, 7}, {10, 1, 2, 3}};
  return to_json(report).dump();
}

TEST_F(CommandRunnerTest, ACommandThatIsStoppedWithThisProcessHasNotFailed) {
  // As Slurm does with a job: first one process gets SIGTERM, then another.
  std::thread batch_system([&] {
    pid_t pid = 0;
    while (!(std::ifstream(folder_.file("pid")) >> pid)) std::this_thread::yield();
    kill(pid, SIGTERM);
    while (kill(pid, 0) == 0) std::this_thread::yield();
    cancel_.cancel();
  });
  auto runner = shell("echo $$ >written; mv written pid; exec sleep 1000");
  const auto result = runner.run({}, incumbent_);
  batch_system.join();
  ASSERT_FALSE(result) << "it counts as a trial: " << result->message;
  EXPECT_EQ(result.error().code, ErrorCode::interrupted);
}

TEST_F(CommandRunnerTest, GivesParametersAsArgumentsAndEnvironment) {
  const Params params{
      {"size", std::int64_t{4096}}, {"rate", 0.25}, {"mode", std::string("{size}")}};
  auto runner = make({"sh", "-c",
                      "echo \"$0|$1|$size|$rate|$mode|${HOCKET_CONFIG-none}\"; "
                      "echo \"v=1\" >&2; test -z \"$(ls \"$(dirname $HOCKET_REPORT)\")\" && "
                      "echo \"$0|$1|$size|$rate|$mode|${HOCKET_CONFIG-none}\" > seen",
                      "-n{size}-{rate}{size}", "{mode} {other} {"},
                     "regex:v=(1)");
  const auto result = runner.run(params, incumbent_);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->state, TrialState::complete) << result->message;
  std::string seen;
  std::getline(std::ifstream(folder_.file("seen")), seen);
  EXPECT_EQ(seen, "-n4096-0.254096|{size} {other} {|4096|0.25|{size}|none");
}

TEST_F(CommandRunnerTest, GivesKnobsAsAConfiguration) {
  auto runner = shell("printf %s \"$HOCKET_CONFIG\" > config");
  ASSERT_TRUE(runner.run({{"streams", std::int64_t{3}}, {"batch", 1.5}}, {}));
  std::string text;
  std::getline(std::ifstream(folder_.file("config")), text);
  ScheduleConfig expected;
  expected.streams = 3;
  EXPECT_EQ(parse_schedule_config(text).value(), expected);
  EXPECT_EQ(runner.run({{"streams", std::int64_t{0}}}, {}).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(CommandRunnerTest, GivesOverridesOfRegionsInTheConfigurationAlone) {
  auto runner = shell("printf %s \"$HOCKET_CONFIG\" > config; env > environment");
  ASSERT_TRUE(runner.run({{"regions.layer1.bucket_bytes", std::int64_t{1 << 20}}}, {}));
  std::string text, environment;
  std::getline(std::ifstream(folder_.file("config")), text);
  EXPECT_EQ(parse_schedule_config(text).value().regions.at("layer1").bucket_bytes, 1 << 20);
  std::getline(std::ifstream(folder_.file("environment")), environment, '\0');
  EXPECT_EQ(environment.find("regions.layer1.bucket_bytes="), std::string::npos);
  EXPECT_NE(environment.find("HOCKET_CONFIG="), std::string::npos);
}

TEST_F(CommandRunnerTest, MeasuresTheWall) {
  const auto result = outcome(shell("true"));
  EXPECT_EQ(result.state, TrialState::complete);
  EXPECT_GT(result.value, 0);
  EXPECT_THAT(result.metrics.at("wall_ns"), ElementsAre(result.value));
}

TEST_F(CommandRunnerTest, ReadsPatternsAfterWarmUp) {
  skip_ = 1;
  const auto result =
      outcome(shell("echo step_ms=9; echo step_ms={b}", "regex:step_ms=([0-9.]+)"), {{"b", 2.5}});
  EXPECT_EQ(result.state, TrialState::complete);
  EXPECT_EQ(result.value, 2.5);
  EXPECT_THAT(result.samples, ElementsAre(2.5));
}

TEST_F(CommandRunnerTest, ReadsTheReport) {
  folder_.write("report", report_text());
  auto runner = shell("cp report \"$HOCKET_REPORT\"", "auto");
  const auto result = runner.run({{"streams", std::int64_t{2}}}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->state, TrialState::complete);
  EXPECT_EQ(result->value, 15);
  EXPECT_EQ(result->message, "");
  EXPECT_THAT(result->metrics.at("iteration_ns"), ElementsAre(20, 10));
  EXPECT_THAT(result->metrics.at("compute_ns"), ElementsAre(5, 1));
  EXPECT_THAT(result->metrics.at("communication_ns"), ElementsAre(6, 2));
  EXPECT_THAT(result->metrics.at("exposed_ns"), ElementsAre(7, 3));
  ASSERT_TRUE(result->report);
  EXPECT_EQ(runner.objective().kind, ObjectiveKind::report);
}

TEST_F(CommandRunnerTest, KeepsOfWholeStepsWhatIsKnown) {
  RunReport report;
  report.config_source = "trial";
  report.iterations = {{.wall_ns = 20, .is_whole = true}, {.wall_ns = 10, .is_whole = true}};
  folder_.write("report", to_json(report).dump());
  const auto result = shell("cp report \"$HOCKET_REPORT\"", "auto").run({}, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->value, 15);
  EXPECT_FALSE(result->metrics.contains("compute_ns"));
  EXPECT_FALSE(result->metrics.contains("exposed_ns"));
}

TEST_F(CommandRunnerTest, WarnsWhenTheJobRanUnderAnotherConfiguration) {
  folder_.write("report", report_text());
  const auto result =
      outcome(shell("cp report \"$HOCKET_REPORT\"", "report"), {{"streams", std::int64_t{4}}});
  EXPECT_EQ(result.state, TrialState::complete);
  EXPECT_EQ(result.message, "warning: the job reports another configuration than it was given");
}

TEST_F(CommandRunnerTest, AutomaticObjectiveIsSettledByTheFirstTrialThatWorks) {
  folder_.write("report", report_text());
  auto runner = shell("test -e ok || exit 1; cp late \"$HOCKET_REPORT\" || true", "auto");
  ASSERT_EQ(runner.run({}, {})->state, TrialState::failed);
  EXPECT_EQ(runner.objective().kind, ObjectiveKind::automatic);
  folder_.write("ok", "");
  ASSERT_EQ(runner.run({}, {})->state, TrialState::complete);
  EXPECT_EQ(runner.objective().kind, ObjectiveKind::wall);
  folder_.write("late", report_text());
  EXPECT_GT(runner.run({}, {})->value, 15);
}

TEST_F(CommandRunnerTest, AReportOfAnEarlierTrialNeverCounts) {
  folder_.write("report", report_text());
  auto runner =
      shell("test ! -e \"$HOCKET_REPORT\" && mv report \"$HOCKET_REPORT\"; true", "report");
  EXPECT_EQ(runner.run({}, {})->state, TrialState::complete);
  const auto second = runner.run({}, {});
  EXPECT_EQ(second->state, TrialState::failed);
  EXPECT_EQ(second->message, "the job wrote no report to the file that HOCKET_REPORT names");
}

TEST_F(CommandRunnerTest, ABadReportFailsTheTrialThatNeedsIt) {
  for (const char* objective : {"auto", "report"}) {
    const auto result = outcome(shell("echo '{' > \"$HOCKET_REPORT\"", objective));
    EXPECT_EQ(result.state, TrialState::failed);
    EXPECT_THAT(result.message, StartsWith("report is not valid JSON"));
  }
  EXPECT_EQ(outcome(shell("echo '{' > \"$HOCKET_REPORT\"", "wall")).state, TrialState::complete);
}

TEST_F(CommandRunnerTest, AFailureSaysHowAndWhat) {
  auto result = outcome(shell("echo one >&2; echo two >&2; echo out; exit 7"));
  EXPECT_EQ(result.state, TrialState::failed);
  EXPECT_EQ(result.message, "the command ended with exit status 7, its last output: one | two");
  result = outcome(shell("echo out; kill -SEGV $$"));
  EXPECT_EQ(result.message, "the command ended with signal 11 (SIGSEGV), its last output: out");
  result = outcome(shell("exit 1"));
  EXPECT_EQ(result.message, "the command ended with exit status 1 and said nothing");
  result = outcome(shell("printf 'a\\377b\\033\\n' >&2; exit 1"));
  EXPECT_NO_THROW(static_cast<void>(nlohmann::json(result.message).dump()));
}

TEST_F(CommandRunnerTest, AJobThatDeliveredAndThenDiedIsCompleteWithAWarning) {
  folder_.write("report", report_text());
  const auto result = outcome(shell("cp report \"$HOCKET_REPORT\"; kill -ABRT $$", "report"));
  EXPECT_EQ(result.state, TrialState::complete);
  EXPECT_EQ(result.value, 15);
  EXPECT_EQ(result.message,
            "warning: it delivered its report, then the command ended with signal 6 (SIGABRT) and "
            "said nothing");
  EXPECT_EQ(outcome(shell("echo v=1; kill -ABRT $$", "regex:v=(1)")).state, TrialState::failed);
}

TEST_F(CommandRunnerTest, MissingMetricFails) {
  EXPECT_EQ(outcome(shell("echo nothing", "regex:v=(\\d+)")).message,
            "no match of v=(\\d+) in 8 bytes of output");
  EXPECT_EQ(outcome(shell("echo v=nan", "regex:v=(\\w+)")).message,
            "match 1 of v=(\\w+): expected a finite number, found \"nan\"");
}

TEST_F(CommandRunnerTest, ReadsTheFileOfThisTrialOnly) {
  auto runner = shell("test -e silent || echo 4.5 > out; true", "file:out");
  EXPECT_EQ(runner.run({}, {})->value, 4.5);
  folder_.write("silent", "");
  const auto stale = runner.run({}, {});
  EXPECT_EQ(stale->state, TrialState::failed);
  EXPECT_EQ(stale->message, "the command wrote no file out");
}

TEST_F(CommandRunnerTest, NeverRemovesAFileThatIsNoMeasurement) {
  folder_.write("train.py", "import torch\n");
  auto runner = shell("true", "file:train.py");
  const auto result = runner.run({}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(result.error().message, HasSubstr("holds more than numbers, so it is not removed"));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("train.py")));
  EXPECT_FALSE(shell("true", "file:.").run({}, {}));
}

TEST_F(CommandRunnerTest, OverTheTimeLimitIsATimeout) {
  time_limit_ns_ = 50'000'000;
  const auto result = outcome(shell("sleep 1000"));
  EXPECT_EQ(result.state, TrialState::timeout);
  EXPECT_EQ(result.message, "not done within 0.05 s; its processes were ended");
}

TEST_F(CommandRunnerTest, MeasuresMemory) {
  const auto result = outcome(shell("true", "memory"));
  EXPECT_EQ(result.state, TrialState::complete);
  EXPECT_GT(result.value, 0);
  EXPECT_THAT(result.metrics.at("peak_memory_bytes"), ElementsAre(result.value));
  EXPECT_GT(outcome(shell("true")).metrics.at("peak_memory_bytes").at(0), 0);
}

TEST_F(CommandRunnerTest, ATrialOverALimitHasFailed) {
  limits_ = {"regex:l=([0-9.]+)<=3.5", "memory<=1G"};
  auto result = outcome(shell("echo v=1 l=4", "regex:v=(1)"));
  EXPECT_EQ(result.state, TrialState::failed);
  EXPECT_EQ(result.message, "regex:l=([0-9.]+) 4 is over the limit of 3.5");
  limits_.push_back("memory<=1K");  // the job may be ended for it before its output is judged
  result = outcome(shell("echo v=1 l=2", "regex:v=(1)"));
  EXPECT_EQ(result.state, TrialState::failed);
  EXPECT_THAT(result.message, HasSubstr("over the limit of 1 KiB"));
  EXPECT_FALSE(result.metrics.at("peak_memory_bytes").empty());
  limits_.pop_back();
  result = outcome(shell("echo l=2", "regex:v=(1)"));
  EXPECT_THAT(result.message, StartsWith("no match of v=(1)"));
  EXPECT_EQ(outcome(shell("echo v=1 l=2", "regex:v=(1)")).state, TrialState::complete);
}

TEST_F(CommandRunnerTest, ALimitReadsAFileOfItsOwnAndOfThisTrialOnly) {
  limits_ = {"file:loss<=3"};
  auto runner = shell("test -e silent || echo 2 > loss; echo 9 > out", "file:out");
  EXPECT_EQ(runner.run({}, {})->value, 9);
  folder_.write("silent", "");
  const auto stale = runner.run({}, {});
  EXPECT_EQ(stale->state, TrialState::failed);
  EXPECT_EQ(stale->message, "limit file:loss<=3: the command wrote no file loss");
}

TEST_F(CommandRunnerTest, MeasuresEveryObjectiveInOneRun) {
  others_ = {"regex:l=([0-9.]+)", "memory"};
  const auto result = outcome(shell("for l in 3 1 2; do echo v=9 l=$l; done", "regex:v=(.)"));
  EXPECT_EQ(result.state, TrialState::complete) << result.message;
  EXPECT_EQ(result.value, 9);
  EXPECT_THAT(result.metrics.at("objective_2"), ElementsAre(3, 1, 2));
  EXPECT_EQ(result.metrics.at("objective_3"), result.metrics.at("peak_memory_bytes"));
  EXPECT_THAT(result.others, ElementsAre(2, result.metrics.at("peak_memory_bytes").front()));
  EXPECT_EQ(others_in(result.metrics), result.others);
}

TEST_F(CommandRunnerTest, ATrialThatLacksAnObjectiveHasFailedAndSaysWhich) {
  others_ = {"memory", "regex:l=(.)"};
  auto result = outcome(shell("echo v=9", "regex:v=(.)"));
  EXPECT_EQ(result.state, TrialState::failed);
  EXPECT_THAT(result.message, StartsWith("objective regex:l=(.): no match of l=(.)"));
  result = outcome(shell("echo l=9", "regex:v=(.)"));
  EXPECT_THAT(result.message, StartsWith("no match of v=(.)"));
  others_ = {"report"};
  result = outcome(shell("echo v=9; echo '{}' > \"$HOCKET_REPORT\"", "regex:v=(.)"));
  EXPECT_EQ(result.state, TrialState::failed);
  EXPECT_THAT(result.message, HasSubstr("format"));
}

TEST_F(CommandRunnerTest, AFurtherObjectiveReadsAFileOfThisTrialOnly) {
  others_ = {"file:loss"};
  auto runner = shell("test -e silent || echo 2 > loss; echo v=9", "regex:v=(.)");
  EXPECT_THAT(runner.run({}, {})->others, ElementsAre(2));
  folder_.write("silent", "");
  EXPECT_EQ(runner.run({}, {})->message, "objective file:loss: the command wrote no file loss");
}

/// Runs until it is killed.
constexpr const char* kForEver = "; exec sleep 1000";

TEST_F(CommandRunnerTest, EndsATrialThatIsSlowerThanTheIncumbent) {
  incumbent_ = {1, 2, 3, 4, 5};
  time_limit_ns_ = 60'000'000'000;
  skip_ = 1;  // used for a pattern only
  const std::pair<const char*, const char*> cases[] = {
      {"regex:t=([0-9]+)", "for t in 90 10 7 8 9 6; do echo t=$t; done"},
      {"file:times", "for t in 10 7 8 9 6; do echo $t >> times; done"},
      {"report", "for t in 10 7 8 9 6; do echo $t >> \"$HOCKET_ITERATIONS\"; done"}};
  for (const auto& [objective, script] : cases) {
    SCOPED_TRACE(objective);
    const auto result = outcome(shell(std::string(script) + kForEver, objective));
    EXPECT_EQ(result.state, TrialState::complete);
    EXPECT_EQ(result.value, 8);
    EXPECT_EQ(result.spread, 1);
    EXPECT_THAT(result.samples, ElementsAre(10, 7, 8, 9, 6));
    EXPECT_EQ(result.message,
              "ended early after 5 iterations: slower than the best so far (p = 0.004)");
    EXPECT_FALSE(result.metrics.at("wall_ns").empty());
  }
}

TEST_F(CommandRunnerTest, OfWhatIsMaximisedALowTrialEndsEarly) {
  incumbent_ = {6, 7, 8, 9, 10};
  time_limit_ns_ = 60'000'000'000;
  const std::string low = "for t in 2 4 3 1 5; do echo t=$t; done";
  const auto ended = outcome(shell(low + kForEver, "max:regex:t=([0-9]+)"));
  EXPECT_EQ(ended.state, TrialState::complete);
  EXPECT_EQ(ended.value, 3) << "as it was measured";
  EXPECT_EQ(ended.message,
            "ended early after 5 iterations: lower than the best so far (p = 0.004)");
  const std::string high = "for t in 16 17 18 19 20; do echo t=$t; done";
  EXPECT_EQ(outcome(shell(high, "max:regex:t=([0-9]+)")).message, "");
}

TEST_F(CommandRunnerTest, TheValueOfAnEndedTrialIsNotThatOfItsWarmUp) {
  incumbent_ = {90, 70, 1, 2, 1, 2, 1, 2};
  time_limit_ns_ = 60'000'000'000;
  const auto ended = outcome(shell(
      std::string("for t in 90 70 8 9 8 9 8; do echo t=$t; done") + kForEver, "regex:t=([0-9]+)"));
  EXPECT_EQ(ended.value, 8);
  EXPECT_THAT(ended.samples, ElementsAre(8, 9, 8, 9, 8));
  EXPECT_THAT(ended.metrics.at(kWarmUpMetric), ElementsAre(90, 70));
  EXPECT_THAT(ended.metrics.at(kEndedEarlyMetric), ElementsAre(7));
  EXPECT_THAT(ended.message, ::testing::StartsWith("ended early after 7 iterations: slower"));
}

TEST_F(CommandRunnerTest, TheWarmUpThatARunShowsDoesNotCount) {
  finds_warm_up_ = true;
  for (const char* objective : {"regex:t=([0-9]+)", "file:times"}) {
    SCOPED_TRACE(objective);
    const auto result =
        outcome(shell("for t in 90 70 8 9 8 9; do echo t=$t; echo $t >> times; done", objective));
    EXPECT_EQ(result.value, 8.5);
    EXPECT_THAT(result.samples, ElementsAre(8, 9, 8, 9));
    EXPECT_THAT(whole_run(result), ElementsAre(90, 70, 8, 9, 8, 9));
    EXPECT_EQ(result.message, "without its first 2 of 6 measurements, which are warm-up");
  }
  const auto rates =
      outcome(shell("for t in 1 3 9 8 9 8; do echo t=$t; done", "max:regex:t=([0-9]+)"));
  EXPECT_THAT(rates.samples, ElementsAre(9, 8, 9, 8));
  finds_warm_up_ = false;
  EXPECT_THAT(
      outcome(shell("for t in 90 70 8 9 8 9; do echo t=$t; done", "regex:t=([0-9]+)")).samples,
      ElementsAre(90, 70, 8, 9, 8, 9));
}

TEST_F(CommandRunnerTest, TrialsAreReadInTheUnitOfTheFirst) {
  auto runner = shell("echo r={r}", "max:regex:r=([0-9.]+)");
  const auto first = runner.run({{"r", std::string("950MB/s")}}, {});
  EXPECT_EQ(first->value, 950);
  EXPECT_TRUE(first->metrics.contains("unit MB/s"));
  EXPECT_EQ(runner.run({{"r", std::string("1.5GB/s")}}, {})->value, 1500);
  EXPECT_EQ(runner.run({{"r", std::string("800")}}, {})->value, 800);
  EXPECT_EQ(runner.run({{"r", std::string("12ms")}}, {})->state, TrialState::failed);
}

TEST_F(CommandRunnerTest, AFileMayBeTheTrialsOwn) {
  auto runner = shell("echo {b} > out-{TRIAL}-{WORKER}-{b}; echo $HOCKET_TRIAL > number",
                      "file:out-{TRIAL}-{WORKER}-{b}");
  EXPECT_EQ(runner.run({{"b", std::int64_t{5}}}, {}, 3)->value, 5);
  EXPECT_TRUE(std::filesystem::exists(folder_.file("out-3-0-5")));
  std::string number;
  std::getline(std::ifstream(folder_.file("number")), number);
  EXPECT_EQ(number, "3");
}

TEST_F(CommandRunnerTest, AFailureQuotesTheLastStateOfABar) {
  EXPECT_EQ(outcome(shell("printf '10%%\\r20%%\\r30%%\\033[2K'; exit 3")).message,
            "the command ended with exit status 3, its last output: 30%");
}

TEST_F(CommandRunnerTest, OfAnEndedTrialOnlyWhatGrowsIsHeldAgainstALimit) {
  incumbent_ = {1, 2, 3, 4, 5};
  time_limit_ns_ = 60'000'000'000;
  limits_ = {"regex:loss=(.)<=1"};
  const std::string script = "for t in 6 7 8 9 10; do echo t=$t loss=9; done";
  EXPECT_EQ(outcome(shell(script + kForEver, "regex:t=([0-9]+)")).state, TrialState::complete);
  limits_ = {"memory>=1G"};
  EXPECT_EQ(outcome(shell(script + kForEver, "regex:t=([0-9]+)")).state, TrialState::complete);
  limits_ = {"memory<=1K"};
  EXPECT_EQ(outcome(shell(script + kForEver, "regex:t=([0-9]+)")).state, TrialState::failed);
}

TEST_F(CommandRunnerTest, IterationsOfAnEarlierTrialNeverCount) {
  incumbent_ = {1, 2, 3, 4, 5};
  auto runner = shell(
      "test -e \"$HOCKET_ITERATIONS\" && echo v=9 || echo v=1; "
      "echo 8 > \"$HOCKET_ITERATIONS\"",
      "regex:v=(.)");
  EXPECT_EQ(runner.run({}, {})->value, 1);
  EXPECT_EQ(runner.run({}, {})->value, 1);
}

TEST_F(CommandRunnerTest, WhatCannotGoOnIsAnError) {
  EXPECT_EQ(make({"no-such-program-{a}"}, "wall").run({{"a", 1.0}}, {}).error().message,
            "cannot start no-such-program-1: No such file or directory");
  auto runner = shell("sleep 1000");
  cancel_.cancel();
  EXPECT_EQ(runner.run({}, {}).error().code, ErrorCode::interrupted);
  EXPECT_EQ(CommandRunner::make({}, clock_, cancel_).error().message, "there is no command to run");
  CommandOptions options;
  options.command = {"true"};
  options.time_limit_ns = 0;
  EXPECT_EQ(CommandRunner::make(options, clock_, cancel_).error().message,
            "the time limit must be above 0, found 0 s");
}

TEST_F(CommandRunnerTest, RemovesItsPrivateFolder) {
  outcome(shell("printf %s \"$HOCKET_REPORT\" > where"));
  std::string where;
  std::getline(std::ifstream(folder_.file("where")), where);
  ASSERT_FALSE(where.empty());
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(where).parent_path()));
}

TEST_F(CommandRunnerTest, AnAbsentVariableIsNotInherited) {
  setenv("ALGO_OF_TEST", "inherited", 1);
  auto runner = shell("echo t=${ALGO_OF_TEST-7}", "regex:t=([0-9]+)");
  EXPECT_EQ(runner.run({{"ALGO_OF_TEST", std::string("unset")}}, {})->value, 7);
  EXPECT_EQ(runner.run({{"ALGO_OF_TEST", std::string("5")}}, {})->value, 5);
  unsetenv("ALGO_OF_TEST");
}

TEST_F(CommandRunnerTest, WhatLiesInTheReportsPlaceIsNamedAndNotWaitedFor) {
  time_limit_ns_ = 60'000'000'000;
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"mkfifo \"$F\"", "it is a named pipe"},
      {"mkdir -p \"$F/inside\"", "it is a folder"},
      {"ln -s /dev/zero \"$F\"", ""},
      {"ln -s \"$F\" \"$F\"", ""}};
  for (const auto& [make, said] : kinds) {
    const auto run = [&](const std::string& path, const char* objective) {
      return shell("F=" + path + "; rm -rf \"$F\"; " + make, objective).run({}, {});
    };
    EXPECT_TRUE(ends([&] { (void)run("$HOCKET_REPORT", "report"); })) << make;
    const auto report = run("$HOCKET_REPORT", "report");
    ASSERT_TRUE(report);
    EXPECT_EQ(report->state, TrialState::failed) << make;
    EXPECT_THAT(report->message, HasSubstr(said.empty() ? "it is a symbolic link" : said));
    // A pipe at the iterations' path is read while the job runs.
    incumbent_ = {1, 2, 3, 4, 5};
    EXPECT_TRUE(ends([&] {
      (void)shell("F=$HOCKET_ITERATIONS; " + make + "; sleep 0.1", "report").run({}, incumbent_);
    })) << make;
    EXPECT_TRUE(ends([&] { (void)run("out", "file:out"); })) << make;
    std::filesystem::remove_all(folder_.file("out"));
    const auto file = run("out", "file:out");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_THAT(file->message, StartsWith("the command wrote no file out: cannot read "));
    EXPECT_THAT(file->message, HasSubstr(said));
    const auto again = run("out", "file:out");
    ASSERT_FALSE(again) << "it is not removed";
    EXPECT_THAT(again.error().message, HasSubstr("is no file of numbers, so it is not removed"));
    std::filesystem::remove_all(folder_.file("out"));
  }
}

}  // namespace
}  // namespace hocket
