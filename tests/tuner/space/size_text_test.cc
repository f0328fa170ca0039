#include "tuner/space/size_text.h"

#include <gtest/gtest.h>

#include <string>

#include "tuner/space/constraint.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/trial/limit.h"

namespace hocket {
namespace {

TEST(SizeText, ReadsSizes) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("65536"), 65536);
  EXPECT_EQ(parse_size("7B"), 7);
  EXPECT_EQ(parse_size("256KiB"), 256 << 10);
  EXPECT_EQ(parse_size("4M"), 4 << 20);
  EXPECT_EQ(parse_size("1.5M"), 3 << 19);
  EXPECT_EQ(parse_size("1MB"), 1'000'000);
  EXPECT_EQ(parse_size("0.25GB"), 250'000'000);
  EXPECT_EQ(parse_size("3kB"), 3000);
  EXPECT_EQ(parse_size("2TiB"), std::int64_t{2} << 40);
  EXPECT_EQ(parse_size("9223372036854775807"), INT64_MAX);
  for (const char* text :
       {"", "MiB", "-1", "-0.5K", "1.5", "1.0001K", "1 MiB", "1mib", "4MiBs", "0x10", ".5x", "nan",
        "1e3", "9223372036854775808", "9007199254740992KiB", "9000000000.5G"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(SizeText, IntegersMayBeNegative) {
  EXPECT_EQ(parse_scaled_integer("-3"), -3);
  EXPECT_EQ(parse_scaled_integer("-1.5K"), -1536);
  EXPECT_EQ(parse_scaled_integer("-9223372036854775808"), INT64_MIN);
}

// One unit means the same in a parameter, a default, a constraint, a limit and an option.
TEST(SizeText, AUnitMeansTheSameEverywhere) {
  for (const char* unit :
       {"", "B", "K", "M", "G", "T", "KiB", "MiB", "GiB", "TiB", "kB", "KB", "MB", "GB", "TB"}) {
    SCOPED_TRACE(unit);
    const std::string text = std::string("25") + unit;
    const std::int64_t bytes = parse_size(text).value();
    EXPECT_EQ(bytes, 25 * size_factor(unit).value());
    auto parameters = std::vector{parse_parameter("a=int:1.." + text).value()};
    EXPECT_EQ(std::get<IntegerRange>(parameters[0].domain).high, bytes);
    ASSERT_TRUE(set_default(parameters, "a=" + text));
    EXPECT_EQ(parameters[0].default_value, ParameterValue(bytes));
    const auto constraint = Constraint::parse("a==" + text, parameters);
    ASSERT_TRUE(constraint) << constraint.error().message;
    const std::vector<double> numbers = {static_cast<double>(bytes)};
    EXPECT_TRUE(constraint->holds(numbers));
    EXPECT_EQ(parse_limit("memory<=" + text)->bound, static_cast<double>(bytes));
  }
}

}  // namespace
}  // namespace hocket
