#include "cli/views/result_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

StudyResult viewed_result() {
  return {.default_params = {{{"X", std::int64_t{4}}}, 2e6, 1e3},
          .best = {{{"X", std::int64_t{8}}}, 1e6, 2e3},
          .promoted = true,
          .gain = 0.5,
          .needed = 0.01,
          .interval = GainInterval{0.48, 0.52},
          .reason = "it is better",
          .stopped = "little is left to gain",
          .trials = {}};
}

TEST(ResultView, ShowsTheWinnerAgainstTheDefaultWithTheIntervalOfTheGain) {
  std::ostringstream out;
  print_result(out, viewed_result(), {.name = "s", .topology = {}, .workload = "w"});
  EXPECT_EQ(out.str(),
            "default  2 ms ± 1 us  X=4\n"
            "best     1 ms ± 2 us  X=8\n"
            "gain     50.0 % (48.0 % to 52.0 % with 90 % confidence); needed: more than 1.0 %\n"
            "stopped: little is left to gain\n"
            "promoted: it is better\n");
}

TEST(ResultView, SaysThatADefaultIsAssumedAndWhatToDo) {
  StudyView view{.name = "s", .topology = {}, .workload = "w"};
  view.default_sources = {{"X", {DefaultOrigin::assumed}}};
  std::ostringstream out;
  print_result(out, viewed_result(), view);
  EXPECT_THAT(out.str(), StartsWith("default  2 ms ± 1 us  X=4 (assumed)\n"));
  EXPECT_THAT(out.str(), HasSubstr("\nthe default X=4 is assumed, "));
  EXPECT_THAT(out.str(), HasSubstr(" --default X=VALUE\n"));
  EXPECT_EQ(to_json(view).at("default_sources"),
            nlohmann::json::parse(R"({"X": {"origin": "assumed"}})"));

  view.default_sources = {{"X", {DefaultOrigin::script, "train.py"}}};
  EXPECT_EQ(default_text({{"X", std::int64_t{4}}, {"Y", std::int64_t{5}}}, view.default_sources),
            "X=4 (argparse of train.py), Y=5");
  EXPECT_EQ(assumption_text({{"X", std::int64_t{4}}}, view.default_sources), "");
}

TEST(ResultView, WithoutAMeasuredTrialThereIsNoBest) {
  auto result = viewed_result();
  result.best.value.reset();
  std::ostringstream out;
  print_result(out, result, {.name = "s", .topology = {}, .workload = "w"});
  EXPECT_THAT(out.str(), ::testing::Not(::testing::HasSubstr("best ")));
}

TEST(ResultView, AResultWithoutPairsHasNoGain) {
  auto result = viewed_result();
  result.interval.reset();
  std::ostringstream out;
  print_result(out, result, {.name = "s", .topology = {}, .workload = "w"});
  EXPECT_THAT(out.str(), Not(HasSubstr("gain ")));
}

TEST(ResultView, ShowsTrialsWithAColumnForEachParameter) {
  std::vector<TrialRow> trials(2);
  trials[0].number = 1;
  trials[0].state = TrialState::complete;
  trials[0].params = {{"B", "x"}};
  trials[0].value = 5;
  trials[0].spread = 1;
  trials[1].number = 2;
  trials[1].state = TrialState::failed;
  trials[1].params = {{"A", 7}};
  trials[1].message = "a\nb";
  std::ostringstream out;
  print_trials(out, trials,
               {.name = "s", .unit = ObjectiveUnit::none, .topology = {}, .workload = "w"});
  EXPECT_EQ(out.str(),
            "trial  phase   state     A  B  value  message\n"
            "1      search  complete     x  5 ± 1\n"
            "2      search  failed    7     -      a b\n");
  const auto list = trials_json(trials);
  EXPECT_EQ(list[0].at("value"), 5);
  EXPECT_EQ(list[1].at("value"), nullptr);
  EXPECT_EQ(list[1].at("state"), "failed");
  EXPECT_FALSE(list[1].contains("worker"));
}

TEST(ResultView, ShowsWhichWorkerRanATrialAndWhichTrialsWaitForOne) {
  std::vector<TrialRow> trials(2);
  trials[0].number = 1;
  trials[0].worker = "a:7:0";
  trials[1].number = 2;
  trials[1].is_offered = true;
  for (TrialRow& trial : trials) trial.params = {{"A", 7}};
  std::ostringstream out;
  print_trials(out, trials,
               {.name = "s", .unit = ObjectiveUnit::none, .topology = {}, .workload = "w"});
  EXPECT_EQ(out.str(),
            "trial  phase   state    A  value  worker  message\n"
            "1      search  running  7  -      a:7:0\n"
            "2      search  waiting  7  -\n");
  const auto list = trials_json(trials);
  EXPECT_EQ(list[0].at("worker"), "a:7:0");
  EXPECT_EQ(list[1].at("state"), "waiting");
}

}  // namespace
}  // namespace hocket
