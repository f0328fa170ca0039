#include "tuner/explain/fitted_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

/// Believes the sum of the coordinates. Counts its calls, as a surrogate may that is of one thread
/// at a time.
class SumSurrogate final : public Surrogate {
 public:
  explicit SumSurrogate(std::size_t* largest) : largest_(largest) {}

  void fit(std::span<const Observation>, std::span<const Observation>) override {}
  Belief believe(std::span<const UnitPoint> points) override {
    *largest_ = std::max(*largest_, points.size());
    const auto size = static_cast<Eigen::Index>(points.size());
    Belief belief{Eigen::VectorXd(size), Eigen::VectorXd::Ones(size)};
    for (Eigen::Index i = 0; i < size; ++i) {
      belief.mean[i] = 0;
      for (const double x : points[static_cast<std::size_t>(i)]) belief.mean[i] += x;
    }
    return belief;
  }
  std::string basis() const override { return "the sum"; }

 private:
  std::size_t* largest_;
};

TEST(FittedModel, AnswersAnyNumberOfPointsInOrder) {
  std::size_t largest = 0;
  const FittedModel model(std::make_unique<SumSurrogate>(&largest), false);
  EXPECT_EQ(model.believe({}).mean.size(), 0);
  std::vector<UnitPoint> points;
  for (int i = 0; i < 2500; ++i) points.push_back({static_cast<double>(i), 0.5});
  const Belief belief = model.believe(points);
  ASSERT_EQ(belief.mean.size(), 2500);
  for (int i = 0; i < 2500; ++i) EXPECT_EQ(belief.mean[i], i + 0.5);
  EXPECT_LT(largest, 2500U);
}

TEST(FittedModel, GivesFiniteValuesOnTheScaleOfTheMeasurements) {
  std::size_t ignored = 0;
  const FittedModel of_logarithms(std::make_unique<SumSurrogate>(&ignored), true);
  const FittedModel of_values(std::make_unique<SumSurrogate>(&ignored), false);
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_DOUBLE_EQ(of_logarithms.on_scale(std::log(3)), 3);
  EXPECT_EQ(of_values.on_scale(-3), -3);
  EXPECT_EQ(of_logarithms.on_scale(1e9), kMost);
  EXPECT_EQ(of_values.on_scale(-INFINITY), -kMost);
}

TEST(FittedModel, IsAskedByOneThreadAtATime) {
  std::size_t largest = 0;
  const FittedModel model(std::make_unique<SumSurrogate>(&largest), false);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&model, i] {
      const std::vector<UnitPoint> points(static_cast<std::size_t>(i + 1), {1.0 * i});
      for (int k = 0; k < 200; ++k) EXPECT_EQ(model.believe(points).mean[i], i);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(largest, 4U);
}

TEST(ValuesAlong, AreAllOrSomeInOrder) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Domain domain = random_domain(random);
    const auto most = static_cast<std::size_t>(pick(random, 2, 40));
    const auto values = values_along(domain, most);
    ASSERT_FALSE(values.empty());
    ASSERT_LE(values.size(), most);
    if (value_count(domain) <= most) {
      ASSERT_EQ(values.size(), value_count(domain));
    }
    for (std::size_t i = 1; i < values.size(); ++i) {
      ASSERT_NE(values[i], values[i - 1]);
      ASSERT_LE(encode(domain, values[i - 1]), encode(domain, values[i]));
    }
  }
}

}  // namespace
}  // namespace hocket
