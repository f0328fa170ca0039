#include "tuner/explain/retrace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

SessionOptions searched(std::uint64_t seed) {
  return {.space = Space::make(
                       {{"x0", RealRange{0, 1, false}, 0.5}, {"x1", RealRange{0, 1, false}, 0.5}})
                       .value(),
          .search = {.seed = seed},
          .trials = 10};
}

TEST(Retrace, FindsTheReasonsOfTheSearch) {
  auto session = StudySession::make(searched(5)).value();
  std::vector<Trial> trials;
  std::vector<std::string> reasons;
  for (std::int64_t i = 0; i < 9; ++i) {
    const SessionNext next = session.ask();
    ASSERT_TRUE(next.params);
    reasons.push_back(next.reason);
    const double value = 2 + std::pow(std::get<double>(next.params->at("x0")) - 0.3, 2);
    trials.push_back({.number = i,
                      .params = *next.params,
                      .outcome = complete_trial({value}),
                      .began = i,
                      .ended = i});
    ASSERT_TRUE(session.tell(*next.params, trials.back().outcome));
  }
  const auto retraced = retrace_search(searched(5), trials);
  ASSERT_TRUE(retraced);
  EXPECT_EQ(retraced->reasons, reasons);
  EXPECT_EQ(retraced->recommendation->params, session.recommend()->params);

  // A trial that still runs has been asked for, and is not explained.
  auto unfinished = trials;
  unfinished[7].outcome.state = TrialState::running;
  EXPECT_EQ(retrace_search(searched(5), unfinished)->reasons.size(), 8U);

  const auto other_seed = retrace_search(searched(6), trials);
  ASSERT_TRUE(other_seed);
  EXPECT_EQ(other_seed->reasons[0], "the default");
  EXPECT_THAT(other_seed->reasons[1], StartsWith("another setting would be asked for now, since "));

  trials[4].outcome.value = NAN;
  const auto broken = retrace_search(searched(5), trials);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("trial 5"));
}

TEST(Retrace, SaysWhenAnotherSettingWouldBeRecommendedOrNoneIsLeft) {
  SessionOptions options = searched(1);
  options.space = Space::make({{"x", IntegerRange{1, 2}, std::int64_t{1}}}).value();
  options.search.method = SearchMethod::grid;
  std::vector<Trial> trials;
  for (std::int64_t i = 0; i < 3; ++i) {
    trials.push_back({.number = i,
                      .params = {{"x", i % 2 + 1}},
                      .outcome = complete_trial({1}),
                      .began = i,
                      .ended = i});
  }
  const auto again = retrace_search(options, trials);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->reasons[2], "not asked for");
}

}  // namespace
}  // namespace hocket
