#include "daemon/http/rate_limit.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(RateLimit, NeverLetsMoreThanBurstAndRateThrough) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const double rate = 1 + random() % 50, burst = 1 + random() % 20;
    RateLimit<int> limit(rate, burst, 10);
    std::int64_t now = 0;
    int let = 0;
    for (int i = 0; i < 2000; ++i) {
      now += static_cast<std::int64_t>(random() % (kSecond / 20));
      let += limit.wait_ns(1, now) == 0;
      ASSERT_LE(let, burst + rate * static_cast<double>(now) / kSecond + 1e-6);
    }
    // Under a higher request rate than allowed, it admits all that is allowed.
    if (rate < 10) {
      EXPECT_GE(let, rate * static_cast<double>(now) / kSecond - 1);
    }
  }
}

TEST(RateLimit, LetsAClientGoAfterTheWaitItWasTold) {
  RateLimit<int> limit(3, 2, 10);
  std::int64_t now = 5 * kSecond;
  EXPECT_EQ(limit.wait_ns(1, now), 0);
  EXPECT_EQ(limit.wait_ns(1, now), 0);
  for (int i = 0; i < 10; ++i) {
    const std::int64_t wait = limit.wait_ns(1, now);
    ASSERT_GT(wait, 0);
    ASSERT_LE(wait, kSecond / 3 + 2);
    EXPECT_GT(limit.wait_ns(1, now + wait - 2), 0);
    EXPECT_EQ(limit.wait_ns(2 + i, now), 0) << "another client waits for no one";
    now += wait;
    EXPECT_EQ(limit.wait_ns(1, now), 0);
  }
}

TEST(RateLimit, ForgetsTheClientSeenLeastRecently) {
  RateLimit<int> limit(0.001, 1, 3);
  for (const int client : {1, 2, 3}) EXPECT_EQ(limit.wait_ns(client, 0), 0);
  EXPECT_GT(limit.wait_ns(1, 0), 0);
  EXPECT_EQ(limit.wait_ns(4, 0), 0);
  EXPECT_EQ(limit.clients(), 3u);
  EXPECT_GT(limit.wait_ns(1, 0), 0);
  EXPECT_EQ(limit.wait_ns(2, 0), 0) << "it was forgotten";
  EXPECT_EQ(limit.clients(), 3u);
}

}  // namespace
}  // namespace hocket
