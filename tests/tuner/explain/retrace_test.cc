#include "tuner/explain/retrace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// Always asks for 0.25 and recommends 0.75, which it never asks for.
class StubbornSearch final : public Search {
 public:
  std::optional<Suggestion> ask() override {
    ++asked;
    return Suggestion{.params = {{"x0", 0.25}}, .reason = "habit"};
  }
  Result<void> tell(const Evaluation&) override { return {}; }
  std::optional<Recommendation> recommend() const override {
    return Recommendation{.params = {{"x0", 0.75}}, .reason = "hope"};
  }
  int asked = 0;
};

TEST(Retrace, TheLastTrialOfAStudyIsWhatIsRecommendedIfThatWasNotTried) {
  const auto trial = [](double x) {
    SearchTrial trial;
    trial.evaluation = {{{"x0", x}}, 1.0};
    return trial;
  };
  StubbornSearch search;
  const auto last = retrace(search, std::vector{trial(0.25), trial(0.75)}, 2);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->reasons[0], "habit");
  EXPECT_EQ(last->reasons[1], "what is recommended, tried before the end; hope");
  EXPECT_EQ(search.asked, 1);
  const auto tried = retrace(search, std::vector{trial(0.75), trial(0.25)}, 2);
  EXPECT_EQ(tried->reasons[1], "habit");
  const auto unfinished = retrace(search, std::vector{trial(0.25), trial(0.25)}, 5);
  EXPECT_EQ(unfinished->reasons[1], "habit");
}

TEST(Retrace, FindsTheReasonsOfTheSearch) {
  const Space space =
      Space::make({{"x0", RealRange{0, 1, false}, 0.5}, {"x1", RealRange{0, 1, false}, 0.5}})
          .value();
  const SearchOptions options{.seed = 5, .step = {}};
  const auto search = make_search(space, options).value();
  std::vector<SearchTrial> trials;
  std::vector<std::string> reasons;
  for (std::int64_t i = 1; i <= 9; ++i) {
    const auto suggestion = search->ask();
    ASSERT_TRUE(suggestion);
    SearchTrial trial;
    trial.number = i;
    trial.evaluation = {suggestion->params,
                        2 + std::pow(std::get<double>(suggestion->params.at("x0")) - 0.3, 2)};
    reasons.push_back(suggestion->reason);
    ASSERT_TRUE(search->tell(trial.evaluation));
    trials.push_back(std::move(trial));
  }
  const auto retraced = retrace(*make_search(space, options).value(), trials, 0);
  ASSERT_TRUE(retraced);
  EXPECT_EQ(retraced->reasons, reasons);
  EXPECT_EQ(retraced->recommendation->params, search->recommend()->params);

  const auto other_seed = retrace(*make_search(space, {.seed = 6, .step = {}}).value(), trials, 0);
  ASSERT_TRUE(other_seed);
  EXPECT_EQ(other_seed->reasons[0], "the default");
  EXPECT_THAT(other_seed->reasons[1], ::testing::StartsWith("another setting"));

  trials[4].evaluation.value = NAN;
  const auto broken = retrace(*make_search(space, options).value(), trials, 0);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("trial 5"));
}

}  // namespace
}  // namespace hocket
