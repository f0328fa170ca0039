#include "cli/output/value_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hocket {
namespace {

TEST(Text, ReadsDurations) {
  const struct {
    const char* text;
    std::int64_t ns;
  } cases[] = {{"1", 1'000'000'000},
               {"30s", 30'000'000'000},
               {"5m", 300'000'000'000},
               {"1.5h", 5400000000000},
               {"250ms", 250'000'000},
               {"3us", 3000},
               {"7ns", 7},
               {"720h", 2'592'000'000'000'000},
               {"0.001", 1'000'000}};
  for (const auto& each : cases) {
    const auto ns = parse_duration(each.text);
    ASSERT_TRUE(ns) << each.text;
    EXPECT_EQ(*ns, each.ns) << each.text;
  }
}

TEST(Text, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "s", "0", "0s", "-1s", "1 s", "1d", "1ss", "nan", "inf", "1e300",
                           "721h", "0.1ns", "1,5s", "soon"}) {
    const auto ns = parse_duration(text);
    ASSERT_FALSE(ns) << text;
    EXPECT_NE(ns.error().message.find("\"" + std::string(text) + "\""), std::string::npos);
  }
}

TEST(Text, ReadsAges) {
  constexpr std::int64_t kMinuteNs = 60'000'000'000;
  EXPECT_EQ(*parse_age("1m"), kMinuteNs);
  EXPECT_EQ(*parse_age("12h"), 720 * kMinuteNs);
  EXPECT_EQ(*parse_age("90d"), 90 * 1'440 * kMinuteNs);
  EXPECT_EQ(*parse_age("2w"), 14 * 1'440 * kMinuteNs);
  EXPECT_EQ(*parse_age("36500d"), 36'500 * 1'440 * kMinuteNs);
  for (const char* text : {"", "d", "0d", "-1d", "90", "90s", "1.5d", "1 d", "d1", "36501d", "1dd",
                           "99999999999999999999d", "5215w", "year"}) {
    const auto age = parse_age(text);
    ASSERT_FALSE(age) << text;
    EXPECT_NE(age.error().message.find("m, h, d or w"), std::string::npos);
    EXPECT_NE(age.error().message.find("\"" + std::string(text) + "\""), std::string::npos);
  }
}

TEST(Text, WritesMeasurementsAndShares) {
  EXPECT_EQ(measured_text(2e6, 1e3, ObjectiveUnit::nanoseconds), "2 ms ± 1 us");
  EXPECT_EQ(measured_text(std::nullopt, 0, ObjectiveUnit::none), "-");
  EXPECT_EQ(percent_text(0.1984), "19.8 %");
  EXPECT_EQ(percent_text(-0.02), "-2.0 %");
}

TEST(Text, WritesPointsInTime) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time_text(1'795'230'750'999'999'999), "2026-11-21T03:12:30Z");
  EXPECT_EQ(time_text(-1), "1969-12-31T23:59:59Z");
}

TEST(Text, WritesParamsWhateverTheStoreHolds) {
  EXPECT_EQ(params_text(Params{{"B", std::int64_t{4}}, {"A", std::string("fifo")}}), "A=fifo B=4");
  EXPECT_EQ(params_text(nlohmann::json{{"X", 0.5}}), "X=0.5");
  EXPECT_EQ(params_text(nlohmann::json{{"X", {1, 2}}}), "{\"X\":[1,2]}");
}

TEST(Text, JsonIsAlwaysUtf8) {
  EXPECT_EQ(json_text({{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace hocket
