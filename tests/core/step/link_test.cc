#include "core/step/link.h"

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

}  // namespace
}  // namespace hocket
