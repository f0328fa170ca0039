#include "archive/studies/study_result.h"

#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

StudyResult stored_result_of_two() {
  return {.default_params = {{{"X", std::int64_t{4}}}, 2e6, 1e3},
          .best = {{{"X", std::int64_t{8}}}, 1e6, 2e3},
          .promoted = true,
          .gain = 0.5,
          .needed = 0.01,
          .interval = GainInterval{0.45, 0.55},
          .reason = "it is better",
          .stopped = "little is left to gain",
          .trials = {}};
}

TEST(StudyResult, SurvivesItsJsonForm) {
  auto result = stored_result_of_two();
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

TEST(StudyResult, ReadsTheNoiseOfOlderVersionsAsWhatWasNeeded) {
  auto document = to_json(stored_result_of_two());
  EXPECT_EQ(study_result_from_json(document)->interval, (GainInterval{0.45, 0.55}));
  document["noise"] = document.at("needed");
  document.erase("needed");
  document.erase("gain_interval");
  const auto result = study_result_from_json(document);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->needed, 0.01);
  EXPECT_FALSE(result->interval);
}

TEST(StudyResult, NoDamageCrashesTheReader) {
  const std::string text = to_json(stored_result_of_two()).dump();
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    const auto document = parse_object(mutate(text, random), "result");
    if (!document) continue;
    if (const auto result = study_result_from_json(*document)) to_json(*result);
  }
}

}  // namespace
}  // namespace hocket
