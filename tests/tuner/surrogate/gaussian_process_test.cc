#include "tuner/surrogate/gaussian_process.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <cmath>
#include <random>

#include "tuner/space/sobol_sequence.h"

namespace hocket {
namespace {

/// Fits a process to values without known noise.
GaussianProcess fitted(const Eigen::MatrixXd& points, const Eigen::VectorXd& values,
                       std::vector<bool> categorical) {
  return GaussianProcess::fit(points, values, Eigen::VectorXd::Zero(values.size()),
                              std::move(categorical));
}

Eigen::MatrixXd filling_points(std::size_t dimensions, std::size_t count, std::uint64_t seed) {
  const auto points = sobol_points(dimensions, 0, count, seed);
  Eigen::MatrixXd matrix(count, dimensions);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < dimensions; ++k) {
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) = points[i][k];
    }
  }
  return matrix;
}

Eigen::VectorXd wave(const Eigen::MatrixXd& points) {
  return 1.3 * (5 * points.col(0)).array().sin();
}

/// An independent implementation of the negative log posterior for one dimension.
double loss(const Eigen::MatrixXd& points, const Eigen::VectorXd& values, double q, double signal,
            double noise) {
  const auto n = points.rows();
  Eigen::MatrixXd covariance(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      const double r = std::sqrt(5 * q) * std::abs(points(i, 0) - points(j, 0));
      covariance(i, j) = signal * (1 + r + r * r / 3) * std::exp(-r) + (i == j ? noise : 0);
    }
  }
  const Eigen::LLT<Eigen::MatrixXd> llt(covariance);
  const Eigen::MatrixXd lower = llt.matrixL();
  return values.dot(llt.solve(values)) / 2 + lower.diagonal().array().log().sum() +
         0.1 * (q + 1 / q) + signal - std::log(signal) + 30 * noise - 0.1 * std::log(noise);
}

TEST(GaussianProcess, HyperparametersAreTheMostLikely) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const auto points = filling_points(1, 20, seed);
    Eigen::VectorXd values = wave(points);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> error(0, 0.2);
    for (double& value : values) value += error(random);
    const auto hyperparameters = fitted(points, values, {false}).hyperparameters();
    double least = INFINITY;
    for (double q = 0.01; q < 1000; q *= 1.4) {
      for (double signal = 0.05; signal < 20; signal *= 1.4) {
        for (double noise = 1e-4; noise < 1; noise *= 1.5) {
          least = std::min(least, loss(points, values, q, signal, noise));
        }
      }
    }
    const double q = hyperparameters.inverse_squared_scales[0],
                 signal = hyperparameters.signal_variance, noise = hyperparameters.noise_variance;
    const double reached = loss(points, values, q, signal, noise);
    EXPECT_LE(reached, least + 1e-3);
    for (const double factor : {0.8, 0.95, 1.05, 1.25}) {
      EXPECT_LE(reached, loss(points, values, q * factor, signal, noise) + 1e-3);
      EXPECT_LE(reached, loss(points, values, q, signal * factor, noise) + 1e-3);
      EXPECT_LE(reached, loss(points, values, q, signal, noise * factor) + 1e-3);
    }
  }
}

TEST(GaussianProcess, PredictsASmoothFunctionWhereItHasNotLooked) {
  const auto points = filling_points(2, 30, 1);
  const auto process = fitted(points, wave(points), {false, false});
  const auto others = filling_points(2, 40, 2);
  const auto [mean, deviation] = process.predict(others);
  EXPECT_LT((mean - wave(others)).cwiseAbs().maxCoeff(), 0.3);
  EXPECT_LT((mean - wave(others)).cwiseAbs().mean(), 0.05);
  EXPECT_GT(deviation.minCoeff(), 0);
}

TEST(GaussianProcess, KnowsWhatItDoesNotKnow) {
  Eigen::MatrixXd points = filling_points(1, 10, 3);
  points *= 0.4;
  const auto process = fitted(points, wave(points), {false});
  Eigen::MatrixXd asked(2, 1);
  asked << points(0, 0), 1.0;
  const auto deviation = process.predict(asked).deviation;
  EXPECT_GT(deviation[1], 5 * deviation[0]);
}

TEST(GaussianProcess, FindsWhichDimensionMatters) {
  const auto points = filling_points(3, 40, 4);
  const auto process = fitted(points, wave(points), {false, false, false});
  const auto& scales = process.hyperparameters().inverse_squared_scales;
  EXPECT_GT(scales[0], 5 * scales[1]);
  EXPECT_GT(scales[0], 5 * scales[2]);
}

TEST(GaussianProcess, TellsNoiseFromSignal) {
  const auto points = filling_points(1, 60, 5);
  Eigen::VectorXd noisy = wave(points);
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.5);
  for (double& value : noisy) value += noise(random);
  const auto clean = fitted(points, wave(points), {false});
  const auto rough = fitted(points, noisy, {false});
  EXPECT_LT(clean.hyperparameters().noise_variance, 0.001);
  EXPECT_NEAR(rough.hyperparameters().noise_variance, 0.25, 0.15);
}

TEST(GaussianProcess, CategoriesHaveNoOrder) {
  // The values of the outer two of three categories agree; the middle one differs.
  Eigen::MatrixXd points(12, 1);
  Eigen::VectorXd values(12);
  for (Eigen::Index i = 0; i < 12; ++i) {
    points(i, 0) = (static_cast<double>(i % 3) + 0.5) / 3;
    values[i] = i % 3 == 1 ? 1.4 : -0.7;
  }
  const auto process = fitted(points, values, {true});
  const auto mean = process.predict(points.topRows(3)).mean;
  EXPECT_NEAR(mean[0], -0.7, 0.1);
  EXPECT_NEAR(mean[1], 1.4, 0.1);
  EXPECT_NEAR(mean[2], -0.7, 0.1);
  // Any code other than a category's is equally far from all categories.
  Eigen::MatrixXd between(2, 1);
  between << 0.4, 0.9;
  const auto elsewhere = process.predict(between).mean;
  EXPECT_NEAR(elsewhere[0], elsewhere[1], 1e-9);
}

TEST(GaussianProcess, SurvivesDegenerateData) {
  const Eigen::MatrixXd same = Eigen::MatrixXd::Constant(200, 2, 0.5);
  Eigen::VectorXd alternating(200);
  for (Eigen::Index i = 0; i < 200; ++i) alternating[i] = i % 2 == 0 ? 1 : -1;
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(200);
  const Eigen::MatrixXd one = Eigen::MatrixXd::Constant(1, 2, 0.1);
  for (const auto& process :
       {fitted(same, alternating, {false, false}), fitted(same, zero, {false, true}),
        fitted(one, Eigen::VectorXd::Constant(1, 3), {false, false})}) {
    const auto [mean, deviation] = process.predict(filling_points(2, 10, 6));
    EXPECT_TRUE(mean.allFinite());
    EXPECT_TRUE(deviation.allFinite());
    EXPECT_GT(deviation.minCoeff(), 0);
  }
  EXPECT_NEAR(fitted(same, alternating, {false, false}).predict(same).mean[0], 0, 0.05);
}

TEST(GaussianProcess, LeavesEachValueOutAsIfItHadNotBeenTold) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Eigen::Index n = 11;
    const auto points = filling_points(1, n, seed);
    Eigen::VectorXd values = wave(points), noise(n);
    std::mt19937_64 random(seed);
    for (Eigen::Index i = 0; i < n; ++i) {
      values[i] += static_cast<double>(random() % 100) / 100;
      noise[i] = static_cast<double>(random() % 3) / 10;
    }
    const auto process = GaussianProcess::fit(points, values, noise, {false});
    const auto& h = process.hyperparameters();
    const Eigen::MatrixXd left_out = process.leave_one_out();
    const auto covariance = [&](Eigen::Index i, Eigen::Index j) {
      const double difference = points(i, 0) - points(j, 0);
      const double r = std::sqrt(5 * h.inverse_squared_scales[0]) * std::abs(difference);
      return h.signal_variance * (1 + r + r * r / 3) * std::exp(-r);
    };
    for (Eigen::Index out = 0; out < n; ++out) {
      // A value with unlimited noise carries no information, which is the same as leaving it out.
      Eigen::MatrixXd matrix(n, n);
      for (Eigen::Index i = 0; i < n; ++i)
        for (Eigen::Index j = 0; j < n; ++j) matrix(i, j) = covariance(i, j);
      const Eigen::MatrixXd prior = matrix;
      matrix.diagonal().array() += noise.array() + h.noise_variance;
      matrix(out, out) += 1e12;
      const Eigen::VectorXd expected = prior * matrix.llt().solve(values);
      ASSERT_LT((left_out.col(out) - expected).cwiseAbs().maxCoeff(), 1e-6);
    }
  }
}

}  // namespace
}  // namespace hocket
