#include "tuner/trial/objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

const Objective kStep{ObjectiveKind::regex, "step_ms=(\\S+)"};

std::string problem(const Objective& objective, const TrialEvidence& evidence,
                    std::size_t skip = 0) {
  const auto measured = evaluate_objective(objective, skip, evidence);
  return measured ? "measured" : measured.error().message;
}

TrialEvidence output(std::string text) {
  TrialEvidence evidence;
  evidence.stdout_text = std::move(text);
  return evidence;
}

TEST(Objective, TextComesBack) {
  for (const char* text :
       {"auto", "wall", "memory", "report", "regex:step_ms=([0-9.]+)", "file:out/x.txt",
        "max:regex:tok/s=([0-9.]+)", "peak=memory", "step[ms]=regex:step_ms=([0-9.]+)",
        "max:tokens-per.s[tokens/s]=file:x", "regex:max:x=(.)"}) {
    const auto objective = parse_objective(text);
    ASSERT_TRUE(objective) << text;
    EXPECT_EQ(to_text(*objective), text);
  }
}

TEST(Objective, RefusesOtherText) {
  EXPECT_EQ(
      parse_objective("speed").error().message,
      "objective: expected auto, wall, memory, report, regex:PATTERN or file:PATH, with max: "
      "in front of what is maximised and NAME= or NAME[UNIT]= before a regex or a file, found "
      "\"speed\"");
  EXPECT_EQ(parse_objective("max:wall").error().message,
            "objective: wall is a cost and is minimised; what is maximised is max:regex:PATTERN or "
            "max:file:PATH, such as max:regex:tokens_per_s=([0-9.]+)");
  EXPECT_EQ(parse_objective("m[GB]=memory").error().message,
            "objective: memory has a unit of its own; leave [GB] out");
  for (const char* text : {"max:", "max:max:file:x", "a[]=file:x", "a[b=file:x", "=file:x",
                           "a=", "a b=file:x", "max:auto"}) {
    EXPECT_FALSE(parse_objective(text)) << text;
  }
  EXPECT_EQ(parse_objective("file:").error().message, "objective: file: needs a path");
  EXPECT_EQ(parse_objective("regex:abc").error().message,
            "objective: the regular expression \"abc\" has no group; put the number into "
            "parentheses, as in step_ms=([0-9.]+)");
}

TEST(Objective, HasADirectionANameAndAUnit) {
  const auto speed = parse_objective("max:speed[tokens/s]=regex:tok/s=([0-9.]+)").value();
  EXPECT_EQ(speed, (Objective{ObjectiveKind::regex, "tok/s=([0-9.]+)", Direction::maximise, "speed",
                              "tokens/s"}));
  EXPECT_EQ(label_of(speed), "speed (tokens/s)");
  EXPECT_EQ(label_of(parse_objective("speed=file:n").value()), "speed");
  EXPECT_EQ(label_of(parse_objective("regex:t=(.)").value()), "regex:t=(.)");
  EXPECT_EQ(parse_objective("min:file:n"), parse_objective("file:n"));
  EXPECT_TRUE(measures_same(speed, parse_objective("regex:tok/s=([0-9.]+)").value()));
  EXPECT_FALSE(measures_same(speed, parse_objective("regex:other=(.)").value()));
}

TEST(Objective, WallIsTheWholeRun) {
  TrialEvidence evidence;
  evidence.wall_ns = 1234;
  const auto measured = evaluate_objective({ObjectiveKind::wall, ""}, 5, evidence);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->value, 1234);
  EXPECT_EQ(measured->spread, 0);
}

TEST(Objective, MemoryIsThePeak) {
  TrialEvidence evidence;
  evidence.peak_memory_bytes = 1 << 20;
  const auto measured = evaluate_objective({ObjectiveKind::memory, ""}, 5, evidence);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->value, 1 << 20);
  EXPECT_THAT(measured->samples, ElementsAre(1 << 20));
}

TEST(Objective, ReportIsTheMedianIteration) {
  TrialEvidence evidence;
  EXPECT_EQ(problem({ObjectiveKind::report, ""}, evidence),
            "the job wrote no report to the file that HOCKET_REPORT names");
  evidence.report.emplace();
  EXPECT_EQ(problem({ObjectiveKind::report, ""}, evidence), "the job's report has no iteration");
  for (const std::int64_t wall_ns : {30, 10, 20}) {
    evidence.report->iterations.push_back({wall_ns, 1, 1, 1});
  }
  const auto measured = evaluate_objective({ObjectiveKind::report, ""}, 0, evidence);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->value, 20);
  EXPECT_EQ(measured->spread, 5);
  EXPECT_THAT(measured->samples, ElementsAre(30, 10, 20));
}

TEST(Objective, PatternTakesTheMedianAfterWarmUp) {
  const auto evidence = output("step_ms=100\nstep_ms=1e0 step_ms=0\nstep_ms=3.5\n");
  const auto measured = evaluate_objective(kStep, 1, evidence);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_THAT(measured->samples, ElementsAre(1, 0, 3.5));
  EXPECT_EQ(measured->value, 1);
}

TEST(Objective, PatternLooksIntoStderrWhenStdoutHasNone) {
  TrialEvidence evidence = output("nothing here");
  evidence.stderr_text = "step_ms=7";
  EXPECT_EQ(evaluate_objective(kStep, 0, evidence)->value, 7);
  evidence.stdout_text = "step_ms=8";
  EXPECT_THAT(evaluate_objective(kStep, 0, evidence)->samples, ElementsAre(8));
}

TEST(Objective, PatternErrorsSayWhatWasFound) {
  EXPECT_EQ(problem(kStep, output("abc\n")), "no match of step_ms=(\\S+) in 4 bytes of output");
  EXPECT_EQ(problem(kStep, output("step_ms=1\nstep_ms=2"), 2),
            "2 matches of step_ms=(\\S+), all among the first 2, which are skipped");
  const std::pair<const char*, const char*> cases[] = {
      {"nan", "expected a finite number, found \"nan\""},
      {"inf", "expected a finite number, found \"inf\""},
      {"-1.5", "expected a number of at least 0, found \"-1.5\""},
      {"fast", "expected a number, found \"fast\""},
      {"1.5apples", "expected a number, found \"1.5apples\""},
      {"1e999", "expected a number, found \"1e999\""},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(problem(kStep, output(std::string("step_ms=1 step_ms=") + text)),
              std::string("match 2 of step_ms=(\\S+): ") + message);
  }
}

TEST(Objective, FileHoldsOneNumberALine) {
  const Objective file{ObjectiveKind::file, "out.txt"};
  TrialEvidence evidence;
  EXPECT_EQ(problem(file, evidence), "the command wrote no file out.txt");
  evidence.file_text = " \n";
  EXPECT_EQ(problem(file, evidence), "file out.txt: expected a number, found nothing");
  evidence.file_text = "1\n2 3\n";
  EXPECT_EQ(problem(file, evidence), "file out.txt: expected a number, found \"2 3\"");
  evidence.file_text = "-1";
  EXPECT_EQ(problem(file, evidence), "file out.txt: expected a number of at least 0, found \"-1\"");
  evidence.file_text = " 4\r\n\n2\n9";
  EXPECT_THAT(evaluate_objective(file, 0, evidence)->samples, ElementsAre(4, 2, 9));
  EXPECT_EQ(evaluate_objective(file, 0, evidence)->value, 4);
}

TEST(Objective, MutatedOutputNeverYieldsABadValue) {
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto text = mutated("step_ms=1.5\nstep_ms=-2 step_ms=1e9\n", random);
    TrialEvidence evidence = output(text);
    evidence.file_text = text.substr(8);
    for (const auto& objective : {kStep, Objective{ObjectiveKind::file, "f"}}) {
      const auto measured = evaluate_objective(objective, 0, evidence);
      if (!measured) continue;
      ASSERT_TRUE(std::isfinite(measured->value));
      ASSERT_GE(measured->value, 0);
    }
  }
}

}  // namespace
}  // namespace hocket
