#include "tuner/surrogate/step_mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/tuner/described_chain.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Space mixture_space() {
  return Space::make({{"partition_bytes", powers(16, 26), std::int64_t{1} << 22},
                      {"credit_bytes", powers(16, 28), std::int64_t{1} << 24},
                      {"order", Choices{{"fifo", "priority"}}, std::string("fifo")},
                      {"channels", powers(0, 3), std::int64_t{1}}})
      .value();
}

/// Returns the default and then `count` − 1 random points, as `model` predicts them with noise.
std::vector<Observation> measured_on(const StepModel& model, const Space& space, int count,
                                     std::uint64_t seed) {
  const auto step = model.with(model.expected());
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<Observation> told;
  for (int i = 0; i < count; ++i) {
    const Params params = i == 0 ? space.defaults() : space.point_at(random() % space.size());
    told.push_back({space.encode(params), step.log_time(model.config(params)) + noise(random)});
  }
  return told;
}

std::vector<UnitPoint> some_points(const Space& space, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<UnitPoint> points;
  for (int i = 0; i < 200; ++i)
    points.push_back(space.encode(space.point_at(random() % space.size())));
  return points;
}

TEST(StepMixture, MeasurementsMakeTheirStepLikelier) {
  const Space space = mixture_space();
  const auto models = StepModel::make_possible(space, std::nullopt);
  ASSERT_GT(models.size(), 1);
  for (std::size_t i = 0; i < models.size(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    StepMixture mixture(space, models);
    mixture.fit(measured_on(models[i].model, space, 15, 11 + i), {});
    EXPECT_NEAR(mixture.weights().sum(), 1, 1e-9);
    EXPECT_GT(mixture.weights()[static_cast<Eigen::Index>(i)],
              1.0 / static_cast<double>(models.size()))
        << mixture.weights().transpose();
  }
}

TEST(StepMixture, TheFirstMeasurementSaysNothingOfTheStep) {
  const Space space = mixture_space();
  const auto models = StepModel::make_possible(space, std::nullopt);
  StepMixture mixture(space, models);
  mixture.fit(measured_on(models[1].model, space, 1, 5), {});
  for (const double weight : mixture.weights())
    EXPECT_NEAR(weight, 1.0 / static_cast<double>(models.size()), 0.02);
}

TEST(StepMixture, BelievesBetweenItsStepsAndIsUncertainWhereTheyDisagree) {
  const Space space = mixture_space();
  const auto models = StepModel::make_possible(space, std::nullopt);
  const auto told = measured_on(models[0].model, space, 3, 3);
  const auto points = some_points(space, 4);
  StepMixture mixture(space, models);
  mixture.fit(told, {});
  const Belief mixed = mixture.believe(points);
  Eigen::VectorXd least = Eigen::VectorXd::Constant(mixed.mean.size(), INFINITY), most = -least,
                  second = Eigen::VectorXd::Zero(mixed.mean.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const double weight = mixture.weights()[static_cast<Eigen::Index>(i)];
    if (weight == 0) continue;
    StepSurrogate one(space, models[i].model);
    one.fit(told, {});
    const int draw_pairs = std::max(1, static_cast<int>(weight * StepSurrogate::kDrawPairs));
    const Belief belief = one.believe(points, draw_pairs);
    least = least.cwiseMin(belief.mean);
    most = most.cwiseMax(belief.mean);
    second += weight * (belief.mean.cwiseAbs2() + belief.deviation.cwiseAbs2());
  }
  EXPECT_TRUE((mixed.mean.array() >= least.array() - 1e-9).all());
  EXPECT_TRUE((mixed.mean.array() <= most.array() + 1e-9).all());
  const Eigen::VectorXd variance = second - mixed.mean.cwiseAbs2();
  EXPECT_LT((mixed.deviation.cwiseAbs2() - variance).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_GT((most - least).maxCoeff(), 0.1) << "the nominal steps say the same";
}

TEST(StepMixture, DependsOnTheMeasurementsAndNotOnWhenTheyAreTold) {
  const Space space = mixture_space();
  const auto models = StepModel::make_possible(space, std::nullopt);
  int left_out = 0;
  for (const std::size_t late : {0, 1, 2}) {
    SCOPED_TRACE("late " + std::to_string(late));
    // The step of the later measurements may be hopeless after the earlier ones.
    auto told = measured_on(models[3].model, space, 10, 31);
    for (const Observation& later : measured_on(models[late].model, space, 14, 32))
      told.push_back(later);
    StepMixture at_once(space, models), one_by_one(space, models);
    at_once.fit(told, {});
    for (std::size_t i = 1; i <= told.size(); ++i) one_by_one.fit(std::span(told).first(i), {});
    EXPECT_EQ(at_once.weights(), one_by_one.weights());
    left_out += at_once.weights()[static_cast<Eigen::Index>(late)] == 0 ? 1 : 0;
  }
  EXPECT_GT(left_out, 0) << "no step was left out; the test shows nothing";
}

TEST(StepMixture, AProfileWithoutDoubtIsTheOnlyStep) {
  const Space space = mixture_space();
  const auto models = StepModel::make_possible(space, chain());
  const auto told = measured_on(models[0].model, space, 6, 8);
  const auto points = some_points(space, 9);
  StepMixture mixture(space, models);
  StepSurrogate one(space, models[0].model);
  mixture.fit(told, {});
  one.fit(told, {});
  EXPECT_FALSE(one.is_doubted());
  EXPECT_EQ(mixture.weights()[0], 1);
  const Belief mixed = mixture.believe(points), alone = one.believe(points);
  EXPECT_TRUE(mixed.mean.isApprox(alone.mean));
  EXPECT_TRUE(mixed.deviation.isApprox(alone.deviation));
  EXPECT_EQ(mixture.noise(), one.noise());
  EXPECT_EQ(mixture.basis(), one.basis());
}

TEST(StepMixture, ADoubtedProfileIsLeftForANominalStepThatPredictsBetter) {
  const Space space = mixture_space();
  StepDescription step = chain();
  step.quality = {3, "the processors were busy with other work"};
  const auto models = StepModel::make_possible(space, step);
  for (const std::size_t truth : {0, 3}) {
    SCOPED_TRACE("truth " + std::to_string(truth));
    StepMixture mixture(space, models);
    mixture.fit(measured_on(models[truth].model, space, 15, 21), {});
    if (truth == 0) {
      EXPECT_GT(mixture.weights()[0], models[0].probability) << mixture.weights().transpose();
      EXPECT_THAT(mixture.basis(), HasSubstr("whose profile is doubted"));
    } else {
      EXPECT_LT(mixture.weights()[0], 0.05) << mixture.weights().transpose();
      EXPECT_THAT(mixture.basis(), Not(HasSubstr("doubted")));
    }
  }
}

TEST(StepMixture, AProfileThatPredictsTheDefaultBadlyIsDoubted) {
  const Space space = mixture_space();
  const auto models = StepModel::make_possible(space, chain());
  auto told = measured_on(models[0].model, space, 5, 4);
  for (Observation& each : told) each.value -= 0.5;
  StepMixture mixture(space, models);
  mixture.fit(std::span(told).first(1), {});
  EXPECT_GT(mixture.weights()[0], 0);
  EXPECT_LT(mixture.weights()[0], 0.5) << mixture.weights().transpose();
  mixture.fit(told, {});
  EXPECT_NEAR(mixture.weights().sum(), 1, 1e-9);
}

}  // namespace
}  // namespace hocket
