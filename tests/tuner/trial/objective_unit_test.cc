#include "tuner/trial/objective_unit.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(ObjectiveUnit, FollowsFromTheObjective) {
  for (const char* text : {"auto", "wall", "report"}) {
    EXPECT_EQ(unit_of(*parse_objective(text)), ObjectiveUnit::nanoseconds) << text;
  }
  EXPECT_EQ(unit_of(*parse_objective("memory")), ObjectiveUnit::bytes);
  EXPECT_EQ(unit_of(*parse_objective("regex:(.)")), ObjectiveUnit::none);
  EXPECT_EQ(unit_of(*parse_objective("file:x")), ObjectiveUnit::none);
  const ObjectiveUnit speed = unit_of(*parse_objective("speed[tokens/s]=file:x"));
  EXPECT_EQ(speed, (ObjectiveUnit{ObjectiveUnit::Kind::own, "tokens/s"}));
  EXPECT_EQ(to_string(speed), "tokens/s");
  EXPECT_EQ(value_text(1234.5, speed), "1234.5 tokens/s");
  EXPECT_EQ(*parse_value("12tokens/s", speed), 12);
  EXPECT_EQ(*parse_value("12", speed), 12);
  EXPECT_EQ(parse_value("12s", speed).error().message,
            "expected a number of tokens/s, at least 0, found \"12s\"");
}

TEST(ObjectiveUnit, WritesValuesInTheScaleThatFits) {
  EXPECT_EQ(value_text(0, ObjectiveUnit::nanoseconds), "0 ns");
  EXPECT_EQ(value_text(999, ObjectiveUnit::nanoseconds), "999 ns");
  EXPECT_EQ(value_text(1500, ObjectiveUnit::nanoseconds), "1.5 us");
  EXPECT_EQ(value_text(411.234e6, ObjectiveUnit::nanoseconds), "411.2 ms");
  EXPECT_EQ(value_text(90e9, ObjectiveUnit::nanoseconds), "90 s");
  EXPECT_EQ(value_text(0, ObjectiveUnit::bytes), "0 B");
  EXPECT_EQ(value_text(1023, ObjectiveUnit::bytes), "1023 B");
  EXPECT_EQ(value_text(5.2 * 0x1p30, ObjectiveUnit::bytes), "5.2 GiB");
  EXPECT_EQ(value_text(0x1p50, ObjectiveUnit::bytes), "1024 TiB");
  EXPECT_EQ(value_text(0.25, ObjectiveUnit::none), "0.25");
  EXPECT_EQ(value_text(123456, ObjectiveUnit::none), "123456");
}

TEST(ObjectiveUnit, ReadsValuesWithTheirScale) {
  const struct {
    const char* text;
    ObjectiveUnit unit;
    double value;
  } cases[] = {{"1500", ObjectiveUnit::nanoseconds, 1500},
               {"250ms", ObjectiveUnit::nanoseconds, 250e6},
               {"1.5h", ObjectiveUnit::nanoseconds, 5400e9},
               {"7ns", ObjectiveUnit::nanoseconds, 7},
               {"4G", ObjectiveUnit::bytes, 0x1p32},
               {"1.5GiB", ObjectiveUnit::bytes, 1.5 * 0x1p30},
               {"65536", ObjectiveUnit::bytes, 65536},
               {"3K", ObjectiveUnit::bytes, 3072},
               {"10B", ObjectiveUnit::bytes, 10},
               {"100MB", ObjectiveUnit::bytes, 100e6},
               {"3.5", ObjectiveUnit::none, 3.5},
               {"1e-3", ObjectiveUnit::none, 1e-3},
               {"0", ObjectiveUnit::bytes, 0}};
  for (const auto& each : cases) {
    const auto value = parse_value(each.text, each.unit);
    ASSERT_TRUE(value) << each.text;
    EXPECT_EQ(*value, each.value) << each.text;
  }
}

TEST(ObjectiveUnit, RefusesWhatIsNoValue) {
  for (const ObjectiveUnit& unit :
       {ObjectiveUnit::nanoseconds, ObjectiveUnit::bytes, ObjectiveUnit::none}) {
    for (const char* text :
         {"", "-1", "nan", "inf", "1e999", "much", " 1", "1 ", "1 s", "0x10", "1mm", "\xff"}) {
      EXPECT_FALSE(parse_value(text, unit)) << text;
    }
  }
  EXPECT_FALSE(parse_value("4G", ObjectiveUnit::nanoseconds));
  EXPECT_FALSE(parse_value("4s", ObjectiveUnit::bytes));
  EXPECT_FALSE(parse_value("4G", ObjectiveUnit::none));
  EXPECT_FALSE(parse_value("1e308h", ObjectiveUnit::nanoseconds));
  EXPECT_EQ(
      parse_value("4s", ObjectiveUnit::bytes).error().message,
      "expected a number of bytes such as 65536, 512M, 4GiB or 100MB, at least 0, found \"4s\"");
}

}  // namespace
}  // namespace hocket
