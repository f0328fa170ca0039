#include "cli/output/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

StudyDefinition progress_definition(const std::string& parameter) {
  return {.space = *Space::make({*parse_parameter(parameter)}),
          .objective = *parse_objective("wall"),
          .trials = 5,
          .confirm_pairs = 3};
}

Trial trial(TrialPhase phase, std::int64_t x, double value) {
  Trial trial{.phase = phase, .params = {{"X", x}}, .outcome = complete_trial({value})};
  return trial;
}

Trial failed_trial(const std::string& message) {
  Trial trial{.params = {{"X", std::int64_t{1}}}, .outcome = {}};
  trial.outcome.message = message;
  return trial;
}

TEST(StudyProgress, WritesALineForEachTrialThatEnded) {
  std::ostringstream err;
  {
    StudyProgress progress(err, 0, progress_definition("X=int:1..9"));
    progress.started(TrialPhase::search, {});
    progress.finished(trial(TrialPhase::search, 5, 2e6), "");
    progress.finished(failed_trial("it broke\nbadly"), "");
    progress.finished(trial(TrialPhase::search, 7, 1e6), "emulated link: 1gbit");
    progress.finished(trial(TrialPhase::confirm, 5, 3e6), "");
  }
  EXPECT_EQ(err.str(),
            "trial 1/5  X=5  2 ms ± 0 ns  best 2 ms\n"
            "trial 2/5  X=1  failed  best 2 ms  it broke badly\n"
            "trial 3/5  X=7  1 ms ± 0 ns (emulated link: 1gbit)  best 1 ms\n"
            "confirmation 1/6  X=5  3 ms ± 0 ns  best 1 ms\n");
}

TEST(StudyProgress, TheBestOfWhatIsMaximisedIsTheHighest) {
  std::ostringstream err;
  auto definition = progress_definition("X=int:1..9");
  definition.objective = *parse_objective("max:speed[tokens/s]=regex:t=(.)");
  StudyProgress progress(err, 0, definition);
  for (const double value : {5.0, 9.0, 7.0})
    progress.finished(trial(TrialPhase::search, 5, value), "");
  EXPECT_THAT(err.str(), HasSubstr("7 ± 0 tokens/s  best 9 tokens/s\n"));
}

TEST(StudyProgress, ShowsEveryObjective) {
  std::ostringstream err;
  auto several = progress_definition("X=int:1..9");
  several.other_objectives = {*parse_objective("memory"), *parse_objective("regex:l=(.)")};
  StudyProgress progress(err, 0, several);
  auto measured = trial(TrialPhase::search, 5, 2e6);
  measured.outcome.others = {4096, 0.5};
  progress.finished(measured, "emulated link: 1gbit");
  EXPECT_EQ(err.str(),
            "trial 1/5  X=5  2 ms ± 0 ns, 4 KiB, 0.5 (emulated link: 1gbit)  best 2 ms\n");
}

TEST(StudyProgress, CountsNoMoreTrialsThanTheSpaceHasPoints) {
  std::ostringstream err;
  StudyProgress progress(err, 0, progress_definition("X=int:1..3"));
  progress.finished(trial(TrialPhase::search, 2, 1), "");
  EXPECT_THAT(err.str(), HasSubstr("trial 1/3 "));
}

TEST(StudyProgress, ANoteTakesThePlaceOfTheLineOnATerminal) {
  std::ostringstream err;
  {
    StudyProgress progress(err, 80, progress_definition("X=int:1..9"));
    progress.started(TrialPhase::search, {});
    progress.note("task 5_0 runs on node n1");
  }
  EXPECT_THAT(err.str(), HasSubstr("\r\033[Ktask 5_0 runs on node n1\n"));
  EXPECT_TRUE(err.str().ends_with("n1\n")) << "no line is left to end";
}

TEST(StudyProgress, GoesOnAfterWhatItRecalls) {
  std::ostringstream err;
  StudyProgress progress(err, 0, progress_definition("X=int:1..9"));
  progress.recall(failed_trial("the default"));
  progress.recall(trial(TrialPhase::search, 3, 1e6));
  progress.finished(trial(TrialPhase::search, 4, 2e6), "");
  // A default that failed is not run again.
  progress.finished(trial(TrialPhase::confirm, 3, 1e6), "");
  EXPECT_EQ(err.str(),
            "trial 3/5  X=4  2 ms ± 0 ns  best 1 ms\n"
            "confirmation 1/2  X=3  1 ms ± 0 ns  best 1 ms\n");
}

TEST(StudyProgress, RewritesOneLineOnATerminalAndNeverWraps) {
  std::ostringstream err;
  {
    StudyProgress progress(err, 30, progress_definition("X=int:1..9"));
    progress.started(TrialPhase::search, {{"X", std::int64_t{5}}});
    progress.finished(trial(TrialPhase::search, 5, 2e6), "");
    progress.started(TrialPhase::search, {{"X", std::int64_t{123456789}}});
  }
  const std::string text = err.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.back(), '\n');
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line, '\r');
  while (std::getline(lines, line, '\r')) {
    ASSERT_TRUE(line.starts_with("\033[K"));
    EXPECT_LE(line.size(), 3 + 29 + 1U) << line;
  }
  EXPECT_THAT(text, HasSubstr("trial 1/5  now X=5"));
}

}  // namespace
}  // namespace hocket
