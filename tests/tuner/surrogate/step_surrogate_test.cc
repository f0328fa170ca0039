#include "tuner/surrogate/step_surrogate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "core/sim/simulator.h"
#include "tests/tuner/described_chain.h"

namespace hocket {
namespace {

Space schedule_space() {
  return Space::make({{"partition_bytes", powers(18, 24), std::int64_t{1} << 22},
                      {"credit_bytes", powers(18, 26), std::int64_t{1} << 24},
                      {"order", Choices{{"fifo", "priority"}}, std::string("fifo")},
                      {"channels", powers(0, 2), std::int64_t{1}}})
      .value();
}

/// Returns the actual step, which differs slightly from its description.
StepDescription real_chain() {
  StepDescription step = chain();
  for (StepLayer& layer : step.layers) layer.forward_ns = layer.forward_ns * 103 / 100;
  step.collective.beta_ns_per_byte *= 1.25;
  step.collective.alpha_ns *= 0.7;
  step.collective.latency_ns *= 1.3;
  return step;
}

double log_time(const StepDescription& step, const Space& space, const UnitPoint& point) {
  const auto model = StepModel::make(space, step).value();
  const auto simulation = simulate(step, {.config = model.config(space.decode(point))});
  return std::log(static_cast<double>(simulation.value().iteration_ns));
}

std::vector<UnitPoint> all_points(const Space& space) {
  std::vector<UnitPoint> points;
  for (std::uint64_t i = 0; i < space.size(); ++i)
    points.push_back(space.encode(space.point_at(i)));
  return points;
}

/// Returns the true excess of the point believed to be best, after `trials` random ones.
double regret_after(int trials, std::optional<StepDescription> described, std::uint64_t seed) {
  const Space space = schedule_space();
  const auto points = all_points(space);
  std::vector<double> truth;
  for (const auto& point : points) truth.push_back(log_time(real_chain(), space, point));
  StepSurrogate surrogate(space, StepModel::make(space, std::move(described)).value());
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<Observation> told;
  for (int i = 0; i < trials; ++i) {
    const std::size_t at = i == 0 ? 0 : random() % points.size();
    const UnitPoint point = i == 0 ? space.encode(space.defaults()) : points[at];
    told.push_back({point, log_time(real_chain(), space, point) + noise(random), 0});
  }
  surrogate.fit(told, {});
  const Belief belief = surrogate.believe(points);
  Eigen::Index best = 0;
  belief.mean.minCoeff(&best);
  return truth[static_cast<std::size_t>(best)] - *std::ranges::min_element(truth);
}

TEST(StepSurrogate, FindsAboutTheBestFromTheDefaultAloneWhenTheStepIsDescribed) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) EXPECT_LT(regret_after(1, chain(), seed), 0.03);
}

TEST(StepSurrogate, LearnsANominalStepFromSomeMeasurements) {
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    EXPECT_LT(regret_after(15, std::nullopt, seed), 0.12) << seed;
}

TEST(StepSurrogate, UnitsDoNotMatter) {
  const Space space = schedule_space();
  const auto points = all_points(space);
  const UnitPoint first = space.encode(space.defaults());
  const auto believe = [&](double offset) {
    StepSurrogate surrogate(space, StepModel::make(space, chain()).value());
    const Observation told{first, log_time(chain(), space, first) + offset, 0};
    surrogate.fit({&told, 1}, {});
    return surrogate.believe(points);
  };
  const Belief in_ns = believe(0), in_seconds = believe(-std::log(1e9));
  const double offset = std::log(1e9);
  EXPECT_LT((in_ns.mean - in_seconds.mean).array().abs().maxCoeff(), offset + 0.02);
  EXPECT_GT((in_ns.mean - in_seconds.mean).array().abs().minCoeff(), offset - 0.02);
}

TEST(StepSurrogate, DoubtsADescriptionOfAnotherStep) {
  // The measurements depend on the order only, in the direction opposite to the description.
  const Space space = schedule_space();
  const auto points = all_points(space);
  StepSurrogate surrogate(space, StepModel::make(space, chain()).value());
  std::mt19937_64 random(5);
  const auto value = [](const UnitPoint& point) { return 17 + (point[2] > 0.5 ? 0.3 : 0.0); };
  std::vector<Observation> told;
  for (int i = 0; i < 30; ++i) {
    const UnitPoint& point = points[random() % points.size()];
    told.push_back({point, value(point), 0});
  }
  surrogate.fit(told, {});
  const Belief belief = surrogate.believe(points);
  Eigen::Index best = 0;
  belief.mean.minCoeff(&best);
  EXPECT_LT(points[static_cast<std::size_t>(best)][2], 0.5);
}

TEST(StepSurrogate, AProfileThatIsWrongAboutTheDefaultIsTrustedLess) {
  const Space space = schedule_space();
  const auto calibrated = [&](const StepDescription& described) {
    StepSurrogate surrogate(space, StepModel::make(space, described).value());
    const UnitPoint first = space.encode(space.defaults());
    surrogate.fit(std::vector<Observation>{{first, log_time(chain(), space, first), 0}}, {});
    return std::pair(surrogate.calibration().constants, surrogate.basis());
  };
  StepDescription busy = chain();
  for (StepLayer& layer : busy.layers) {
    layer.forward_ns *= 4;
    layer.backward_ns *= 4;
  }
  const auto [good, good_basis] = calibrated(chain());
  const auto [bad, bad_basis] = calibrated(busy);
  for (std::size_t i = 0; i + 1 < good.size(); ++i)
    EXPECT_GE(bad[i].expected_deviation, good[i].expected_deviation) << good[i].name;
  EXPECT_GT(bad[0].expected_deviation, 2 * good[0].expected_deviation);
  EXPECT_EQ(good_basis, "the simulated step, calibrated on what was measured");
  EXPECT_NE(bad_basis.find("whose profile is doubted (it predicts the default"), bad_basis.npos);
  EXPECT_NE(bad_basis.find("too long"), bad_basis.npos);
}

TEST(StepSurrogate, WhatItLearnsDoesNotDependOnWhenItIsAsked) {
  const Space space = schedule_space();
  const auto points = all_points(space);
  std::mt19937_64 random(9);
  std::vector<Observation> told;
  StepSurrogate often(space, StepModel::make(space, chain()).value());
  StepSurrogate once(space, StepModel::make(space, chain()).value());
  for (int i = 0; i < 5; ++i) {
    const UnitPoint& point = points[random() % points.size()];
    told.push_back({point, log_time(real_chain(), space, point), 0});
    often.fit(told, {});
    const Observation pending{points[random() % points.size()], 16, 0.1};
    often.fit(told, {&pending, 1});
  }
  often.fit(told, {});
  once.fit(told, {});
  EXPECT_EQ(often.believe(points).mean, once.believe(points).mean);
}

TEST(StepSurrogate, APendingPointIsLessUncertain) {
  const Space space = schedule_space();
  const UnitPoint first = space.encode(space.defaults());
  const UnitPoint other = space.encode(space.point_at(7));
  StepSurrogate surrogate(space, StepModel::make(space, chain()).value());
  const Observation told{first, log_time(chain(), space, first), 0};
  surrogate.fit({&told, 1}, {});
  const Belief before = surrogate.believe({&other, 1});
  const Observation pending{other, before.mean[0], before.deviation[0]};
  surrogate.fit({&told, 1}, {&pending, 1});
  EXPECT_LT(surrogate.believe({&other, 1}).deviation[0], before.deviation[0]);
}

TEST(StepSurrogate, AThousandEqualPointsAndOutliersAreNoTrouble) {
  const Space space = schedule_space();
  const UnitPoint first = space.encode(space.defaults());
  const double value = log_time(chain(), space, first);
  std::vector<Observation> told;
  for (int i = 0; i < 60; ++i) told.push_back({first, i % 7 == 3 ? value + 5 : value, 0});
  StepSurrogate surrogate(space, StepModel::make(space, chain()).value());
  surrogate.fit(told, {});
  const Belief belief = surrogate.believe({&first, 1});
  EXPECT_NEAR(belief.mean[0], value, 0.05) << "outliers are slow";
  EXPECT_GT(belief.deviation[0], 0);
}

}  // namespace
}  // namespace hocket
