#include "core/sim/jitter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hocket {
namespace {

constexpr int kDraws = 20'000;

struct Moments {
  double mean = 0, deviation = 0, low = 1e9, high = 0;
};

Moments moments(const Jitter& jitter) {
  Moments m;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double factor = jitter_factor(jitter, i % 7, i / 100, static_cast<std::uint32_t>(i));
    m.mean += factor / kDraws;
    squares += factor * factor / kDraws;
    m.low = std::min(m.low, factor);
    m.high = std::max(m.high, factor);
  }
  m.deviation = std::sqrt(squares - m.mean * m.mean);
  return m;
}

TEST(Jitter, HasTheMomentsOfItsDistribution) {
  EXPECT_EQ(moments({JitterKind::none, 0.5, 1}).low, 1);
  const auto uniform = moments({JitterKind::uniform, 0.3, 1});
  EXPECT_NEAR(uniform.mean, 1, 0.01);
  EXPECT_GE(uniform.low, 0.7);
  EXPECT_LE(uniform.high, 1.3);
  EXPECT_NEAR(uniform.deviation, 0.3 / std::sqrt(3), 0.01);
  const auto normal = moments({JitterKind::normal, 0.1, 1});
  EXPECT_NEAR(normal.mean, 1, 0.01);
  EXPECT_NEAR(normal.deviation, 0.1, 0.01);
  const auto lognormal = moments({JitterKind::lognormal, 0.1, 1});
  EXPECT_NEAR(lognormal.mean, std::exp(0.005), 0.01);
  const auto exponential = moments({JitterKind::exponential, 0.2, 1});
  EXPECT_NEAR(exponential.mean, 1.2, 0.01);
  EXPECT_GE(exponential.low, 1);
}

TEST(Jitter, NeverTurnsTimeBack) {
  EXPECT_GE(moments({JitterKind::normal, 10, 1}).low, 0);
  EXPECT_GE(moments({JitterKind::uniform, 10, 1}).low, 0);
}

TEST(Jitter, DependsOnSeedRankLaunchAndTaskAlone) {
  const Jitter jitter{JitterKind::normal, 0.1, 5};
  const double factor = jitter_factor(jitter, 1, 2, 3);
  EXPECT_EQ(jitter_factor(jitter, 1, 2, 3), factor);
  EXPECT_NE(jitter_factor({JitterKind::normal, 0.1, 6}, 1, 2, 3), factor);
  EXPECT_NE(jitter_factor(jitter, 2, 2, 3), factor);
  EXPECT_NE(jitter_factor(jitter, 1, 3, 3), factor);
  EXPECT_NE(jitter_factor(jitter, 1, 2, 4), factor);
}

}  // namespace
}  // namespace hocket
