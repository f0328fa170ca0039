#include "tuner/trial/objective_unit.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Unit, FollowsFromTheObjective) {
  for (const char* text : {"auto", "wall", "report"}) {
    EXPECT_EQ(unit_of(*parse_objective(text)), Unit::nanoseconds) << text;
  }
  EXPECT_EQ(unit_of(*parse_objective("memory")), Unit::bytes);
  EXPECT_EQ(unit_of(*parse_objective("regex:(.)")), Unit::none);
  EXPECT_EQ(unit_of(*parse_objective("file:x")), Unit::none);
  const Unit speed = unit_of(*parse_objective("speed[tokens/s]=file:x"));
  EXPECT_EQ(speed, (Unit{Unit::Kind::own, "tokens/s"}));
  EXPECT_EQ(to_string(speed), "tokens/s");
  EXPECT_EQ(value_text(1234.5, speed), "1234.5 tokens/s");
  EXPECT_EQ(*parse_value("12tokens/s", speed), 12);
  EXPECT_EQ(*parse_value("12", speed), 12);
  EXPECT_EQ(parse_value("12s", speed).error().message,
            "expected a number of tokens/s, at least 0, found \"12s\"");
}

TEST(Unit, WritesValuesInTheScaleThatFits) {
  EXPECT_EQ(value_text(0, Unit::nanoseconds), "0 ns");
  EXPECT_EQ(value_text(999, Unit::nanoseconds), "999 ns");
  EXPECT_EQ(value_text(1500, Unit::nanoseconds), "1.5 us");
  EXPECT_EQ(value_text(411.234e6, Unit::nanoseconds), "411.2 ms");
  EXPECT_EQ(value_text(90e9, Unit::nanoseconds), "90 s");
  EXPECT_EQ(value_text(0, Unit::bytes), "0 B");
  EXPECT_EQ(value_text(1023, Unit::bytes), "1023 B");
  EXPECT_EQ(value_text(5.2 * 0x1p30, Unit::bytes), "5.2 GiB");
  EXPECT_EQ(value_text(0x1p50, Unit::bytes), "1024 TiB");
  EXPECT_EQ(value_text(0.25, Unit::none), "0.25");
  EXPECT_EQ(value_text(123456, Unit::none), "123456");
}

TEST(Unit, ReadsValuesWithTheirScale) {
  const struct {
    const char* text;
    Unit unit;
    double value;
  } cases[] = {{"1500", Unit::nanoseconds, 1500},
               {"250ms", Unit::nanoseconds, 250e6},
               {"1.5h", Unit::nanoseconds, 5400e9},
               {"7ns", Unit::nanoseconds, 7},
               {"4G", Unit::bytes, 0x1p32},
               {"1.5GiB", Unit::bytes, 1.5 * 0x1p30},
               {"65536", Unit::bytes, 65536},
               {"3K", Unit::bytes, 3072},
               {"10B", Unit::bytes, 10},
               {"100MB", Unit::bytes, 100e6},
               {"3.5", Unit::none, 3.5},
               {"1e-3", Unit::none, 1e-3},
               {"0", Unit::bytes, 0}};
  for (const auto& each : cases) {
    const auto value = parse_value(each.text, each.unit);
    ASSERT_TRUE(value) << each.text;
    EXPECT_EQ(*value, each.value) << each.text;
  }
}

TEST(Unit, RefusesWhatIsNoValue) {
  for (const Unit& unit : {Unit::nanoseconds, Unit::bytes, Unit::none}) {
    for (const char* text :
         {"", "-1", "nan", "inf", "1e999", "much", " 1", "1 ", "1 s", "0x10", "1mm", "\xff"}) {
      EXPECT_FALSE(parse_value(text, unit)) << text;
    }
  }
  EXPECT_FALSE(parse_value("4G", Unit::nanoseconds));
  EXPECT_FALSE(parse_value("4s", Unit::bytes));
  EXPECT_FALSE(parse_value("4G", Unit::none));
  EXPECT_FALSE(parse_value("1e308h", Unit::nanoseconds));
  EXPECT_EQ(
      parse_value("4s", Unit::bytes).error().message,
      "expected a number of bytes such as 65536, 512M, 4GiB or 100MB, at least 0, found \"4s\"");
}

}  // namespace
}  // namespace hocket
