#include "core/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"

namespace hocket {
namespace {

TEST(Link, ParsesRatesAndLatencies) {
  EXPECT_EQ(parse_link("500mbit").value(), (LinkSpec{62.5e6, 0}));
  EXPECT_EQ(parse_link("10gbit,20us").value(), (LinkSpec{1.25e9, 20'000}));
  EXPECT_EQ(parse_link("1.5gbit,1ms").value(), (LinkSpec{1.875e8, 1'000'000}));
  for (const char* wrong :
       {"", "500", "mbit", "500mbit,", "500mbit,5", "0mbit", "-1mbit", "nanmbit", "infgbit",
        "500mbit,11s", "500mbit,20us,1", "99999gbit", "500 mbit"}) {
    EXPECT_FALSE(parse_link(wrong)) << wrong;
  }
  EXPECT_THAT(parse_link("fast").error().message, testing::HasSubstr("expected RATE[,LATENCY]"));
}

TEST(Link, TextRoundTrips) {
  for (const char* text : {"500mbit", "10gbit,20us", "1.5gbit,1ms", "1kbit,10s"}) {
    EXPECT_EQ(to_string(parse_link(text).value()), text);
  }
}

TEST(Link, DamagedTextNeverCrashes) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    if (const auto link = parse_link(mutate("10gbit,20us", random))) {
      EXPECT_GT(link->bytes_per_second, 0);
    }
  }
}

TEST(TokenBucket, NeverLetsMoreThanRateTimesTimePlusBurstThrough) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const double rate = 1e6 * static_cast<double>(1 + random() % 1000);
    const auto burst = static_cast<std::int64_t>(random() % 100'000);
    TokenBucket bucket(rate, burst);
    std::int64_t now = static_cast<std::int64_t>(random() % 1'000'000);
    const std::int64_t begin = now;
    double bytes = 0;
    std::int64_t last_sent = 0;
    for (int i = 0; i < 100; ++i) {
      const auto size = static_cast<double>(random() % 200'000);
      const std::int64_t sent = bucket.send(size, now);
      bytes += size;
      ASSERT_GE(sent, now);
      ASSERT_GE(sent, last_sent) << "first in, first out";
      ASSERT_LE(bytes,
                rate * static_cast<double>(sent - begin) * 1e-9 + static_cast<double>(burst) + 1);
      last_sent = sent;
      now += static_cast<std::int64_t>(random() % 1'000'000);
    }
  }
}

TEST(TokenBucket, ABusyLinkIsUsedToTheFull) {
  TokenBucket bucket(1e9, 0);
  EXPECT_EQ(bucket.send(1000, 0), 1000);
  EXPECT_EQ(bucket.send(1000, 10), 2000);
  EXPECT_EQ(bucket.send(1000, 5000), 6000) << "idle time is not saved up";
}

}  // namespace
}  // namespace hocket
