#include "tuner/search/acquisition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace hocket {
namespace {

double integrated(double mean, double deviation, double best) {
  double sum = 0;
  const double step = 1e-4;
  for (double z = -12; z < 12; z += step) {
    const double value = mean + deviation * z;
    sum += std::max(best - value, 0.0) * std::exp(-z * z / 2) * step;
  }
  return sum / std::sqrt(2 * std::numbers::pi);
}

TEST(Acquisition, IsTheLogarithmOfTheIntegral) {
  for (const double mean : {-1.0, 0.0, 0.5, 3.0}) {
    for (const double deviation : {0.3, 1.0, 4.0}) {
      for (const double best : {-1.0, 0.2}) {
        if ((best - mean) / deviation < -6) continue;
        EXPECT_NEAR(log_expected_improvement(mean, deviation, best),
                    std::log(integrated(mean, deviation, best)), 1e-4);
      }
    }
  }
}

TEST(Acquisition, StaysFiniteOrderedAndContinuousFarOut) {
  double last = INFINITY;
  for (double mean = -5; mean < 1e6; mean += 0.01 + std::abs(mean) / 100) {
    const double score = log_expected_improvement(mean, 1, 0);
    ASSERT_TRUE(std::isfinite(score)) << mean;
    ASSERT_LT(score, last) << mean;
    last = score;
  }
  EXPECT_NEAR(log_expected_improvement(10 - 1e-9, 1, 0), log_expected_improvement(10 + 1e-9, 1, 0),
              1e-2);
}

TEST(Acquisition, PrefersLowerMeansNoLessDoubtAndLikelierCompletion) {
  const auto improvement = expected_improvement();
  const auto bound = confidence_bound(1.5);
  for (const Acquisition* acquisition : {improvement.get(), bound.get()}) {
    for (const double mean : {-2.0, -0.1, 0.0, 0.4, 3.0}) {
      for (const double deviation : {0.01, 0.3, 2.0}) {
        for (const double completes : {0.2, 0.9, 1.0}) {
          const double score = acquisition->score({mean, deviation, completes}, 0);
          EXPECT_GT(acquisition->score({mean - 0.1, deviation, completes}, 0), score);
          EXPECT_GE(acquisition->score({mean, deviation * 1.1, completes}, 0), score - 1e-12);
          EXPECT_LT(acquisition->score({mean, deviation, completes * 0.9}, 0), score);
        }
      }
    }
  }
}

TEST(Acquisition, DoubtMakesAPointWorthMore) {
  EXPECT_GT(expected_improvement()->score({0.4, 0.3, 1}, 0),
            expected_improvement()->score({0.4, 0.2, 1}, 0));
  EXPECT_GT(confidence_bound(1)->score({0.4, 0.3, 1}, 0),
            confidence_bound(1)->score({0.4, 0.2, 1}, 0));
}

TEST(Acquisition, ConfidenceBoundOfNoDeviationsIsTheMean) {
  const auto bound = confidence_bound(0);
  EXPECT_EQ(bound->score({3, 1, 1}, 0), -3);
  EXPECT_EQ(confidence_bound(2)->score({3, 1, 1}, 0), -1);
}

}  // namespace
}  // namespace hocket
