#include "tuner/study/front_confirmation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/rounds.h"

namespace hocket {
namespace {

Trial trial_at(std::int64_t x, double first, double second) {
  Trial trial{.params = {{"x", x}}, .outcome = complete_trial({first})};
  trial.outcome.others = {second};
  trial.outcome.metrics[metric_of_other(0)] = {second};
  return trial;
}

StudyOptions two_objectives(int pairs) {
  return {.session = {.space = Space::make({{"x", IntegerRange{0, 99}, std::int64_t{0}}}).value(),
                      .search = {.objectives = 2}},
          .confirm_pairs = pairs};
}

std::int64_t x_of(const Params& params) {
  return std::get<std::int64_t>(params.at("x"));
}

/// A study whose search has ended. `again` says what x measures when it runs again.
struct Front {
  StudyOptions options = two_objectives(5);
  std::vector<Trial> trials;
  std::vector<std::int64_t> order = {};

  template <class Again>
  std::vector<FrontPoint> confirm(const Again& again) {
    while (const auto next = FrontConfirmation(trials, options).next()) {
      order.push_back(x_of(*next));
      Trial trial = again(x_of(*next));
      trial.phase = TrialPhase::confirm;
      trials.push_back(std::move(trial));
    }
    return FrontConfirmation(trials, options).points();
  }
};

TEST(FrontConfirmation, RunsThePointsBesideTheDefaultInAlternatingOrder) {
  Front front{
      .trials = {trial_at(0, 10, 10), trial_at(1, 5, 20), trial_at(2, 20, 5), trial_at(3, 30, 30)}};
  const auto points = front.confirm([](std::int64_t x) {
    return x == 0 ? trial_at(0, 10, 10) : x == 1 ? trial_at(1, 6, 21) : trial_at(2, 20, 4);
  });
  EXPECT_EQ(front.order, (std::vector<std::int64_t>{0, 1, 2, 2, 1, 0}));
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].state, FrontState::confirmed);
  EXPECT_EQ(points[0].measured.value, 6);
  EXPECT_EQ(points[0].measured.others, std::vector<double>{21});
  EXPECT_EQ(points[0].measured.other_spreads, std::vector<double>{0});
  EXPECT_EQ(points[0].runs, 2);
  EXPECT_EQ(points[1].state, FrontState::searched) << "the default is what counts against";
  EXPECT_EQ(points[2].state, FrontState::confirmed);
  EXPECT_EQ(points[2].measured.others, std::vector<double>{4});
}

TEST(FrontConfirmation, APointThatWasLuckyIsNotConfirmedOrLeavesTheFront) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(9, 11);
  Front front{.trials = {trial_at(0, 10, 10), trial_at(1, 5, 12), trial_at(2, 12, 5)}};
  const auto points = front.confirm([&](std::int64_t x) {
    if (x == 2) return trial_at(2, 12, 13);  // beaten by the default
    return trial_at(x, uniform(random), uniform(random));
  });
  for (const FrontPoint& point : points) {
    EXPECT_NE(x_of(point.measured.params), 2);
    EXPECT_NE(point.state, FrontState::confirmed);
  }
  EXPECT_EQ(std::ranges::count(front.order, 2), 2) << "it is decided at once";
}

TEST(FrontConfirmation, RunsFewOfManyPointsTheBestInEachObjectiveAmongThem) {
  Front front{.trials = {trial_at(0, 100, 100)}};
  for (std::int64_t x = 1; x <= 20; ++x)
    front.trials.push_back(trial_at(x, double(x), double(21 - x)));
  const auto points = front.confirm([](std::int64_t x) {
    return x == 0 ? trial_at(0, 100, 100) : trial_at(x, double(x), double(21 - x));
  });
  EXPECT_EQ(points.size(), 20U);
  EXPECT_EQ(std::ranges::count(points, FrontState::confirmed, &FrontPoint::state),
            kMostFrontPoints);
  EXPECT_EQ(points.front().state, FrontState::confirmed);
  EXPECT_EQ(points.back().state, FrontState::confirmed);
  EXPECT_EQ(front.order.size(), 2U * (1 + kMostFrontPoints));
}

TEST(FrontConfirmation, WhatIsMaximisedIsBetterWhereItIsHigher) {
  Front front{.trials = {trial_at(0, 100, 10), trial_at(1, 200, 20), trial_at(2, 50, 5),
                         trial_at(3, 20, 30)}};
  front.options.session.directions = {Direction::maximise, Direction::minimise};
  const auto points = front.confirm([](std::int64_t x) {
    return x == 0 ? trial_at(0, 100, 10) : x == 1 ? trial_at(1, 210, 20) : trial_at(2, 50, 5);
  });
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].measured.value, 210);
  EXPECT_EQ(points[0].state, FrontState::confirmed);
  EXPECT_EQ(x_of(points[2].measured.params), 2);
  EXPECT_EQ(points[2].state, FrontState::confirmed);
}

TEST(FrontConfirmation, AFailureEndsItWhereItHappens) {
  const auto failed = [](std::int64_t x) {
    Trial trial = trial_at(x, 0, 0);
    trial.outcome = {};
    return trial;
  };
  Front point{.trials = {trial_at(0, 10, 10), trial_at(1, 5, 20), trial_at(2, 20, 5)}};
  auto points = point.confirm([&](std::int64_t x) {
    return x == 1 ? failed(1) : x == 2 ? trial_at(2, 20, 5) : trial_at(0, 10, 10);
  });
  EXPECT_EQ(point.order, (std::vector<std::int64_t>{0, 1, 2, 2, 0}));
  EXPECT_EQ(points.front().state, FrontState::unconfirmed);
  EXPECT_EQ(points.back().state, FrontState::confirmed);

  Front by_default{.trials = {trial_at(0, 10, 10), trial_at(1, 5, 20)}};
  points = by_default.confirm(failed);
  EXPECT_EQ(by_default.order, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(points.front().state, FrontState::unconfirmed);

  // A default that failed in the search does not run again.
  Front without{.trials = {failed(0), trial_at(1, 5, 20)}};
  points = without.confirm([](std::int64_t x) { return trial_at(x, 5, 20); });
  EXPECT_EQ(without.order, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(points.front().state, FrontState::confirmed);

  Front unwanted{.options = two_objectives(0), .trials = {trial_at(0, 10, 10), trial_at(1, 5, 20)}};
  points = unwanted.confirm(failed);
  EXPECT_TRUE(unwanted.order.empty());
  EXPECT_EQ(points.front().state, FrontState::searched);
}

TEST(FrontConfirmation, APointEqualToTheDefaultIsConfirmedInAtMostFivePercentOfStudies) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal(0, 0.03);
  const int studies = rounds(2000);
  int confirmed = 0;
  for (int i = 0; i < studies; ++i) {
    Front front{.trials = {trial_at(0, 1.1, 1.1), trial_at(1, 1, 1.2)}};
    const auto points = front.confirm([&](std::int64_t x) {
      return trial_at(x, std::exp(normal(random)), std::exp(normal(random)));
    });
    confirmed += std::ranges::count(points, FrontState::confirmed, &FrontPoint::state) > 0 ? 1 : 0;
  }
  const double errors = 3 * std::sqrt(0.05 * 0.95 / studies);
  EXPECT_LE(confirmed, (0.05 + errors) * studies);
}

}  // namespace
}  // namespace hocket
