#include "tuner/explain/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/tuner/random_space.h"
#include "tests/tuner/trial/measured_trial.h"
#include "tuner/surrogate/gaussian_surrogate.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using Function = std::function<std::optional<double>(const UnitPoint&)>;

Space cube(std::size_t dimensions) {
  std::vector<Parameter> parameters;
  for (std::size_t k = 0; k < dimensions; ++k) {
    parameters.push_back(
        {numbered("x", static_cast<std::int64_t>(k)), RealRange{0, 1, false}, 0.5});
  }
  return Space::make(std::move(parameters)).value();
}

std::vector<Trial> measured(const Space& space, const Function& function, int count,
                            std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<Trial> trials;
  for (int i = 1; i <= count; ++i) {
    UnitPoint unit;
    for (std::size_t k = 0; k < space.parameters().size(); ++k) unit.push_back(random_unit(random));
    const auto point = space.snap_allowed(unit).value();
    Trial& trial = trials.emplace_back(measured_trial(i, space.decode(point), function(point)));
    if (!is_complete(trial)) trial.outcome.message = "out of memory";
  }
  return trials;
}

Result<Explanation> explained(const Space& space, const std::vector<Trial>& trials) {
  const auto make = [&] { return std::make_unique<GaussianSurrogate>(space, ValueWarp::none); };
  return explain_search(space, trials, {.make_surrogate = make, .seed = 3});
}

const ParameterImportance& importance(const Explanation& explanation, const std::string& name) {
  return *std::ranges::find(explanation.importances, name, &ParameterImportance::name);
}

TEST(Explanation, GivesAllImportanceToTheOnlyParameterThatMatters) {
  const Space space = cube(3);
  const auto explanation =
      explained(space, measured(
                           space, [](const auto& x) { return 5 + std::sin(4 * x[1]); }, 40));
  ASSERT_TRUE(explanation) << explanation.error().message;
  EXPECT_EQ(explanation->importances.front().name, "x1");
  EXPECT_GT(importance(*explanation, "x1").alone, 0.9);
  EXPECT_LT(importance(*explanation, "x0").total, 0.05);
  EXPECT_LT(importance(*explanation, "x2").total, 0.05);
  EXPECT_GT(explanation->variation, 0.05);
}

TEST(Explanation, RecommendsTheHighestOfWhatIsMaximised) {
  const Space space = cube(1);
  const auto trials = measured(
      space, [](const auto& x) { return 10 - 8 * std::abs(x[0] - 0.3); }, 40);
  const auto make = [&] { return std::make_unique<GaussianSurrogate>(space, ValueWarp::none); };
  const auto explanation = explain_search(
      space, trials, {.make_surrogate = make, .seed = 3, .direction = Direction::maximise});
  ASSERT_TRUE(explanation) << explanation.error().message;
  EXPECT_GT(explanation->recommendation.expected, 9);
  EXPECT_LT(explained(space, trials)->recommendation.expected, 6);
}

TEST(Explanation, AnAdditiveFunctionSplitsByVariance) {
  // The variances of x and 2x are as 1 to 4. Some values are negative, so they stay on their scale.
  const Space space = cube(2);
  const auto explanation =
      explained(space, measured(
                           space, [](const auto& x) { return x[0] + 2 * x[1] - 1; }, 50));
  ASSERT_TRUE(explanation);
  EXPECT_FALSE(explanation->relative);
  EXPECT_NEAR(importance(*explanation, "x0").alone, 0.2, 0.05);
  EXPECT_NEAR(importance(*explanation, "x1").alone, 0.8, 0.05);
  EXPECT_NEAR(importance(*explanation, "x0").total, 0.2, 0.05);
  EXPECT_NEAR(explanation->variation, std::sqrt(5.0 / 12), 0.05);
}

TEST(Explanation, AProductIsImportantTogetherAndNotAlone) {
  const Space space = cube(2);
  const auto explanation = explained(
      space, measured(
                 space, [](const auto& x) { return 4 * (x[0] - 0.5) * (x[1] - 0.5); }, 80));
  ASSERT_TRUE(explanation);
  EXPECT_LT(importance(*explanation, "x0").alone, 0.15);
  EXPECT_LT(importance(*explanation, "x1").alone, 0.15);
  EXPECT_GT(importance(*explanation, "x0").total, 0.8);
  EXPECT_GT(importance(*explanation, "x1").total, 0.8);
}

TEST(Explanation, ConstantValuesShowNoEffect) {
  const Space space = cube(2);
  const auto explanation = explained(space, measured(
                                                space, [](const auto&) { return 7.0; }, 12));
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->variation, 0);
  for (const auto& each : explanation->importances) EXPECT_EQ(each.total, 0);
  EXPECT_NEAR(explanation->recommendation.expected, 7, 1e-6);
}

TEST(Explanation, CalibratedIntervalsHoldMostOfNoisyMeasurements) {
  const Space space = cube(2);
  double coverage = 0;
  constexpr int kRuns = 8;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::normal_distribution<double> noise(0, 0.1);
    const auto trials = measured(
        space, [&](const auto& x) { return std::exp(std::sin(3 * x[0]) + x[1] + noise(random)); },
        40, seed);
    const auto explanation = explained(space, trials);
    ASSERT_TRUE(explanation);
    const auto& calibration = explanation->calibration;
    ASSERT_TRUE(calibration);
    ASSERT_EQ(calibration->trials.size(), 40U);
    EXPECT_GT(calibration->rank_correlation, 0.6);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const LeftOut& left_out = calibration->trials[i];
      EXPECT_EQ(left_out.number, shown_number(trials[i]));
      EXPECT_EQ(left_out.measured, trials[i].outcome.value);
      EXPECT_LT(left_out.low, left_out.expected);
      EXPECT_LT(left_out.expected, left_out.high);
    }
    coverage += calibration->coverage / kRuns;
  }
  EXPECT_GT(coverage, 0.8);
  EXPECT_LT(coverage, 0.98);
}

/// Believes the mean of the values told, everywhere, without noise.
class MeanSurrogate final : public Surrogate {
 public:
  /// Stores the lowest value told in `lowest` unless that is null.
  explicit MeanSurrogate(double* lowest = nullptr) : lowest_(lowest) {}

  void fit(std::span<const Observation> told, std::span<const Observation>) override {
    mean_ = 0;
    if (lowest_) *lowest_ = std::ranges::min(told, {}, &Observation::value).value;
    for (const auto& each : told) mean_ += each.value / static_cast<double>(told.size());
  }
  Belief believe(std::span<const UnitPoint> points) override {
    const auto size = static_cast<Eigen::Index>(points.size());
    return {Eigen::VectorXd::Constant(size, mean_), Eigen::VectorXd::Constant(size, 0.5)};
  }
  std::string basis() const override { return "the mean"; }

 private:
  double* lowest_;
  double mean_ = 0;
};

TEST(Explanation, LeavesTheTrialOutThatItPredicts) {
  const Space space = cube(1);
  std::vector<Trial> trials;
  for (const int i : {0, 1, 2})
    trials.push_back(measured_trial(i + 1, {{"x0", 0.25 * i}}, i * i - 1));
  const auto make = [] { return std::make_unique<MeanSurrogate>(); };
  const auto explanation = explain_search(space, trials, {.make_surrogate = make});
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->basis, "the mean");
  // The values are −1, 0 and 3.
  EXPECT_DOUBLE_EQ(explanation->calibration->trials[0].expected, 1.5);
  EXPECT_DOUBLE_EQ(explanation->calibration->trials[1].expected, 1);
  EXPECT_DOUBLE_EQ(explanation->calibration->trials[2].expected, -0.5);
  EXPECT_NEAR(explanation->calibration->trials[2].high, -0.5 + 1.6449 * 0.5, 1e-12);
  EXPECT_EQ(explanation->calibration->coverage, 0);
  EXPECT_EQ(explanation->calibration->rank_correlation, -1);
  EXPECT_EQ(explanation->importances[0].total, 0);
}

TEST(Explanation, FailuresRejectWhereTheyAreAndTeachNoTimes) {
  const Space space = cube(2);
  const Function function = [](const auto& x) {
    return x[0] > 0.6 ? std::nullopt : std::optional(2 + x[1]);
  };
  const auto explanation = explained(space, measured(space, function, 60));
  ASSERT_TRUE(explanation);
  EXPECT_EQ(explanation->completed + explanation->failed, 60U);
  EXPECT_GT(explanation->failed, 10U);
  EXPECT_NEAR(explanation->rejected, 0.4, 0.15);
  const auto& points = explanation->slices[0].points;
  EXPECT_GT(points.front().completes, 0.9);
  EXPECT_LT(points.back().completes, 0.3);
  EXPECT_EQ(explanation->importances.front().name, "x1");
  const auto all_complete =
      explained(space, measured(
                           space, [](const auto& x) { return 2 + x[1]; }, 20));
  EXPECT_EQ(all_complete->rejected, 0);
}

TEST(Explanation, SlicesFollowTheFunctionAndSkipWhatIsExcluded) {
  const Space space = Space::make({{"a", IntegerRange{1, 9, false}, std::int64_t{5}},
                                   {"b", IntegerRange{1, 9, false}, std::int64_t{1}},
                                   {"point", IntegerRange{4, 4, false}, std::int64_t{4}}},
                                  {"a+b<=10"})
                          .value();
  const auto explanation =
      explained(space, measured(
                           space, [](const auto& x) { return 1 + std::pow(x[0] - 0.5, 2); }, 40));
  ASSERT_TRUE(explanation) << explanation.error().message;
  const auto& best = explanation->recommendation.params;
  EXPECT_EQ(best.at("a"), ParameterValue(std::int64_t{5}));
  ASSERT_EQ(explanation->slices.size(), 3U);
  for (const BeliefSlice& slice : explanation->slices) {
    for (const auto& point : slice.points) {
      Params params = best;
      params[slice.name] = point.value;
      EXPECT_TRUE(space.allows(params));
      EXPECT_LT(point.low, point.expected);
      EXPECT_LT(point.expected, point.high);
    }
  }
  for (const auto& point : explanation->slices[0].points) {
    const double a = (static_cast<double>(std::get<std::int64_t>(point.value)) - 0.5) / 9;
    EXPECT_NEAR(point.expected, 1 + std::pow(a - 0.5, 2), 0.03);
  }
  EXPECT_EQ(explanation->slices[2].points.size(), 1U);
  EXPECT_EQ(importance(*explanation, "point").total, 0);
  ASSERT_TRUE(explanation->surface);
  EXPECT_EQ(explanation->surface->x, "a");
  EXPECT_EQ(explanation->surface->y, "b");
  for (std::size_t j = 0; j < 9; ++j)
    for (std::size_t i = 0; i < 9; ++i)
      EXPECT_EQ(explanation->surface->expected[j][i].has_value(), i + j + 2 <= 10);
}

TEST(Explanation, RefusesWhatItCannotExplain) {
  const Space space = cube(1);
  const auto message = [&](std::vector<Trial> trials) {
    const auto explanation = explained(space, trials);
    EXPECT_FALSE(explanation);
    if (explanation) return std::string();
    EXPECT_EQ(explanation.error().code, ErrorCode::invalid_argument);
    return explanation.error().message;
  };
  EXPECT_THAT(message({}), HasSubstr("0 of 0 trials of the search completed"));
  const Trial one = measured_trial(7, {{"x0", 0.5}}, 1.0);
  EXPECT_THAT(message({one}), HasSubstr("at least 2"));
  Trial other = one;
  other.params = {{"y", 0.5}};
  EXPECT_THAT(message({one, other}), HasSubstr("trial 7"));
  other = one;
  other.outcome.value = NAN;
  EXPECT_THAT(message({one, other}), HasSubstr("finite"));
  const auto make = [&] { return std::make_unique<GaussianSurrogate>(space, ValueWarp::none); };
  const auto elsewhere =
      explain_search(space, std::vector{one, one},
                     {.make_surrogate = make,
                      .recommendation = Recommendation{.params = {{"x0", 3.0}}, .reason = {}}});
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message, HasSubstr("the recommendation"));
}

TEST(Explanation, ManyTrialsAreThinnedOutAndTheBestIsKept) {
  const Space space = cube(2);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    auto trials = measured(
        space, [](const auto& x) { return 2 + x[0] + x[1]; }, 700, seed);
    trials[444] = measured_trial(445, {{"x0", 0.75}, {"x1", 0.75}}, 0.01);
    double lowest = 0;
    const auto make = [&] { return std::make_unique<MeanSurrogate>(&lowest); };
    const auto explanation = explain_search(space, trials, {.make_surrogate = make, .seed = seed});
    ASSERT_TRUE(explanation);
    EXPECT_EQ(explanation->completed, 700U);
    EXPECT_EQ(explanation->modelled, kMostModelled);
    EXPECT_FALSE(explanation->calibration);
    EXPECT_DOUBLE_EQ(lowest, std::log(0.01));
  }
}

TEST(Explanation, StaysFiniteAndInsideItsBoundsForRandomHistories) {
  const double numbers[] = {0, -1, 1e308, -1e308, 1e-308, 1, 2, 3.5};
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto space = random_constrained_space(random);
    if (!space) continue;
    const bool is_wild = pick(random, 0, 1) == 0;
    const auto function = [&](const UnitPoint&) -> std::optional<double> {
      if (pick(random, 0, 5) == 0) return std::nullopt;
      return is_wild ? numbers[pick(random, 0, 7)] : 1 + random_unit(random);
    };
    const auto trials = measured(*space, function, static_cast<int>(pick(random, 0, 9)), seed);
    const auto explanation = explained(*space, trials);
    if (!explanation) {
      EXPECT_THAT(explanation.error().message, HasSubstr("at least 2"));
      continue;
    }
    double alone = 0;
    for (const auto& each : explanation->importances) {
      ASSERT_GE(each.alone, 0);
      ASSERT_LE(each.alone, each.total);
      ASSERT_LE(each.total, 1);
      alone += each.alone;
    }
    ASSERT_LE(alone, 1 + 1e-9);
    ASSERT_TRUE(std::isfinite(explanation->variation));
    ASSERT_TRUE(std::isfinite(explanation->recommendation.expected));
    ASSERT_TRUE(std::isfinite(explanation->recommendation.deviation));
    for (const BeliefSlice& slice : explanation->slices) {
      for (const auto& point : slice.points) {
        ASSERT_TRUE(std::isfinite(point.low) && std::isfinite(point.high));
        ASSERT_LE(point.low, point.expected);
        ASSERT_LE(point.expected, point.high);
      }
    }
    if (!explanation->calibration) continue;
    ASSERT_GE(explanation->calibration->coverage, 0);
    ASSERT_LE(explanation->calibration->coverage, 1);
  }
}

}  // namespace
}  // namespace hocket
