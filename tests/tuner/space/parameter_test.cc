#include "tuner/space/parameter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

std::string problem(Parameter parameter) {
  const auto ok = validate(parameter);
  return ok ? "" : ok.error().message;
}

TEST(Parameter, RefusesBadNames) {
  for (const char* name : {"", "1a", "a-b", "a b", "ä", "a="}) {
    EXPECT_EQ(problem({name, IntegerRange{0, 1}, std::int64_t{0}}),
              std::string("parameter name \"") + name +
                  "\": expected letters, digits and underscores, not starting with a digit, or a "
                  "knob of a region, as in regions.backward_layer1.partition_bytes, of the "
                  "job's own, as in job.bucket_cap_bytes, or of a tool, as in "
                  "deepspeed.zero_optimization.overlap_comm");
  }
  for (const char* name : {"job.", "job.A", "job.a.b"}) {
    EXPECT_NE(problem({name, IntegerRange{0, 1}, std::int64_t{0}}), "") << name;
  }
  EXPECT_EQ(problem({"job.bucket_cap_bytes", IntegerRange{0, 1}, std::int64_t{0}}), "");
  EXPECT_EQ(problem({"regions.layer-1.attention.streams", IntegerRange{1, 2}, std::int64_t{1}}),
            "");
  EXPECT_NE(problem({"regions.a b.streams", IntegerRange{1, 2}, std::int64_t{1}}), "");
  EXPECT_NE(problem({"regions.a.speed", IntegerRange{1, 2}, std::int64_t{1}}), "");
  EXPECT_EQ(problem({"HOCKET_CONFIG", IntegerRange{0, 1}, std::int64_t{0}}),
            "parameter name \"HOCKET_CONFIG\": names that start with HOCKET_ are kept for hocket's "
            "own variables");
  EXPECT_EQ(problem({"_a1", IntegerRange{0, 1}, std::int64_t{0}}), "");
}

TEST(Parameter, RefusesBadDomains) {
  EXPECT_EQ(problem({"a", IntegerRange{2, 1}, std::int64_t{1}}),
            "parameter a: low 2 is above high 1");
  EXPECT_EQ(problem({"a", IntegerRange{0, 1, true}, std::int64_t{1}}),
            "parameter a: a logarithmic range needs low > 0, found 0");
  EXPECT_EQ(problem({"a", RealRange{-1, INFINITY}, 0.0}),
            "parameter a: low and high must be finite");
  EXPECT_EQ(problem({"a", RealRange{NAN, 1}, 0.0}), "parameter a: low and high must be finite");
  EXPECT_EQ(problem({"a", Choices{}, std::string("x")}),
            "parameter a: expected at least one choice");
  EXPECT_EQ(problem({"a", Choices{{"x", "y", "x"}}, std::string("x")}),
            "parameter a: choice \"x\" is there twice");
  EXPECT_EQ(problem({"a", Choices{{"x", ""}}, std::string("x")}), "parameter a: a choice is empty");
  EXPECT_EQ(problem({"a", Choices{{"x", "\xff"}}, std::string("x")}),
            "parameter a: a choice is not valid UTF-8");
  EXPECT_EQ(problem({"a", Choices{{std::string("x\0y", 3)}}, std::string("x")}),
            "parameter a: a choice holds a zero byte");
}

TEST(Parameter, RefusesBadLevels) {
  const auto of = [](std::vector<ParameterValue> values) {
    return problem({"a", Levels{std::move(values)}, std::int64_t{1}});
  };
  EXPECT_EQ(of({}), "parameter a: expected at least one level");
  EXPECT_EQ(of({std::int64_t{1}, 2.0}), "parameter a: levels must be all integers or all reals");
  EXPECT_EQ(of({std::string("x")}), "parameter a: expected levels that are numbers, found \"x\"");
  EXPECT_EQ(of({1.0, INFINITY}), "parameter a: levels must be finite, found inf");
  EXPECT_EQ(of({1.0, NAN}), "parameter a: levels must be finite, found nan");
  EXPECT_EQ(of({std::int64_t{4}, std::int64_t{2}}),
            "parameter a: levels must rise: 2 comes after 4");
  EXPECT_EQ(of({1.0, 1.0}), "parameter a: levels must rise: 1 comes after 1");
  EXPECT_EQ(of({std::int64_t{2}, std::int64_t{4}}),
            "parameter a, default: expected one of 2, 4, found 1");
  EXPECT_EQ(of({std::int64_t{1}}), "");
}

TEST(Parameter, LevelsTakeIntegersOfTheSameValue) {
  const Domain reals = Levels{{0.5, 2.0, 3.0}};
  EXPECT_EQ(admit(reals, std::int64_t{2}).value(), ParameterValue(2.0));
  EXPECT_FALSE(admit(reals, std::int64_t{1}));
  EXPECT_FALSE(admit(reals, NAN));
  const Domain integers = Levels{{std::int64_t{1}, std::int64_t{2}}};
  EXPECT_EQ(admit(integers, std::int64_t{2}).value(), ParameterValue(std::int64_t{2}));
  EXPECT_FALSE(admit(integers, 2.0));
  EXPECT_FALSE(admit(integers, std::string("2")));
}

TEST(Parameter, LevelsAreEquallyFarApart) {
  const Domain domain = Levels{{std::int64_t{1}, std::int64_t{10}, std::int64_t{1000}}};
  EXPECT_DOUBLE_EQ(encode(domain, std::int64_t{1}), 0.5 / 3);
  EXPECT_DOUBLE_EQ(encode(domain, std::int64_t{10}), 1.5 / 3);
  EXPECT_DOUBLE_EQ(encode(domain, std::int64_t{1000}), 2.5 / 3);
}

TEST(Parameter, RefusesADefaultOutside) {
  EXPECT_EQ(problem({"a", IntegerRange{1, 4}, std::int64_t{5}}),
            "parameter a, default: expected an integer from 1 to 4, found 5");
  EXPECT_EQ(problem({"a", IntegerRange{1, 4}, 2.0}),
            "parameter a, default: expected an integer from 1 to 4, found 2");
  EXPECT_EQ(problem({"a", RealRange{0.5, 1}, std::string("x")}),
            "parameter a, default: expected a number from 0.5 to 1, found \"x\"");
  EXPECT_EQ(problem({"a", Choices{{"x", "y"}}, std::string("z")}),
            "parameter a, default: expected one of x, y, found \"z\"");
  EXPECT_EQ(problem({"a", RealRange{0, 4}, std::int64_t{3}}), "");
}

TEST(Parameter, MiddleIsInTheMiddle) {
  EXPECT_EQ(middle_value(IntegerRange{1, 4}), ParameterValue(std::int64_t{2}));
  EXPECT_EQ(middle_value(IntegerRange{-5, -1}), ParameterValue(std::int64_t{-3}));
  EXPECT_EQ(middle_value(IntegerRange{INT64_MIN, INT64_MAX}), ParameterValue(std::int64_t{-1}));
  EXPECT_EQ(middle_value(IntegerRange{1 << 16, 1 << 26, true}),
            ParameterValue(std::int64_t{1 << 21}));
  EXPECT_EQ(middle_value(RealRange{1, 3}), ParameterValue(2.0));
  EXPECT_NEAR(std::get<double>(middle_value(RealRange{1e-4, 1e2, true})), 0.1, 1e-12);
  EXPECT_EQ(middle_value(Choices{{"b", "a"}}), ParameterValue(std::string("b")));
  EXPECT_EQ(middle_value(Levels{{1.0, 2.0, 8.0, 9.0}}), ParameterValue(2.0));
}

TEST(Parameter, DecodedValuesAreInsideAndTheirCodesComeBack) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Domain domain = random_domain(random);
    for (double unit : {0.0, 1.0, -1.0, 2.0, std::nan(""), random_unit(random)}) {
      const auto value = decode(domain, unit);
      ASSERT_TRUE(admit(domain, value)) << describe(domain) << " at " << unit;
      const double code = encode(domain, value);
      ASSERT_GE(code, 0);
      ASSERT_LE(code, 1);
      ASSERT_TRUE(admit(domain, decode(domain, code)));
      const bool exact = value_count(domain) < (std::uint64_t{1} << 40);
      if (exact) {
        ASSERT_EQ(decode(domain, code), value);
      }
    }
    ASSERT_TRUE(admit(domain, middle_value(domain)));
  }
}

TEST(Parameter, EveryLevelHasACodeOfItsOwn) {
  const std::vector<Domain> domains{
      IntegerRange{-3, 9}, IntegerRange{1, 64, true},
      IntegerRange{(std::int64_t{1} << 60), (std::int64_t{1} << 60) + 5, true},
      Choices{{"a", "b", "c"}}, Levels{{-0.5, 0.0, 1e300}}};
  for (const auto& domain : domains) {
    SCOPED_TRACE(describe(domain));
    double last = -1;
    for (std::uint64_t i = 0; i < value_count(domain); ++i) {
      const auto value = value_at(domain, i);
      EXPECT_GT(encode(domain, value), last);
      last = encode(domain, value);
      EXPECT_EQ(decode(domain, last), value);
    }
  }
}

TEST(Parameter, UniformPointsReachLevelsEvenly) {
  std::map<ParameterValue, int> linear, logarithmic;
  for (int i = 0; i < 4000; ++i) {
    const double unit = (i + 0.5) / 4000;
    ++linear[decode(IntegerRange{1, 4}, unit)];
    ++logarithmic[decode(IntegerRange{1, 1 << 20, true}, unit)];
  }
  for (const auto& [value, count] : linear) EXPECT_EQ(count, 1000);
  int below = 0;
  for (const auto& [value, count] : logarithmic) {
    if (std::get<std::int64_t>(value) < 1 << 10) below += count;
  }
  EXPECT_EQ(below, 2000);
}

TEST(Parameter, SizeCountsAndSaturates) {
  EXPECT_EQ(value_count(IntegerRange{-1, 1}), 3u);
  EXPECT_EQ(value_count(IntegerRange{INT64_MIN, INT64_MAX}), UINT64_MAX);
  EXPECT_EQ(value_count(RealRange{1, 1}), 1u);
  EXPECT_EQ(value_count(RealRange{1, 2}), UINT64_MAX);
  EXPECT_EQ(value_count(Choices{{"a", "b"}}), 2u);
  EXPECT_EQ(value_count(Levels{{1.0, 2.0, 4.0}}), 3u);
}

}  // namespace
}  // namespace hocket
