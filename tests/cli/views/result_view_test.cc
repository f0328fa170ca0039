#include "cli/views/result_view.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "core/base/json.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

StudyResult viewed_result() {
  return {.default_params = {{{"X", std::int64_t{4}}}, 2e6, 1e3},
          .best = {{{"X", std::int64_t{8}}}, 1e6, 2e3},
          .promoted = true,
          .gain = 0.5,
          .noise = 0.01,
          .reason = "it is better",
          .stopped = "little is left to gain",
          .trials = {}};
}

TEST(ResultView, SurvivesItsJsonForm) {
  auto result = viewed_result();
  for (const bool has_value : {true, false}) {
    if (!has_value) result.best = {{{"X", std::int64_t{8}}}, std::nullopt, 0};
    const auto document = to_json(result);
    const auto again = study_result_from_json(document);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(to_json(*again), document);
    EXPECT_EQ(again->best.value.has_value(), has_value);
    EXPECT_EQ(again->best.params, result.best.params);
  }
}

TEST(ResultView, NoDamageCrashesTheReader) {
  const std::string text = to_json(viewed_result()).dump();
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    const auto document = parse_object(mutate(text, random), "result");
    if (!document) continue;
    if (const auto result = study_result_from_json(*document)) to_json(*result);
  }
}

TEST(ResultView, ShowsTheWinnerAgainstTheDefaultWithTheNoise) {
  std::ostringstream out;
  print_result(out, viewed_result(), Unit::nanoseconds);
  EXPECT_EQ(out.str(),
            "default  2 ms ± 1 us  X=4\n"
            "best     1 ms ± 2 us  X=8\n"
            "gain     50.0 %, noise 1.0 %\n"
            "stopped: little is left to gain\n"
            "promoted: it is better\n");
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
  print_trials(out, trials, {.name = "s", .unit = Unit::none, .topology = {}, .workload = "w"});
  EXPECT_EQ(out.str(),
            "trial  phase   state     A  B  value  message\n"
            "1      search  complete     x  5 ± 1\n"
            "2      search  failed    7     -      a b\n");
  const auto list = trials_json(trials);
  EXPECT_EQ(list[0].at("value"), 5);
  EXPECT_EQ(list[1].at("value"), nullptr);
  EXPECT_EQ(list[1].at("state"), "failed");
}

}  // namespace
}  // namespace hocket
