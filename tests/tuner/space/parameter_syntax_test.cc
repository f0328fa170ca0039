#include "tuner/space/parameter_syntax.h"

#include <gtest/gtest.h>

#include "tests/tuner/random_space.h"
#include "tuner/space/size_text.h"
#include "tuner/space/space.h"

namespace hocket {
namespace {

Parameter parsed(const char* text) {
  const auto parameter = parse_parameter(text);
  EXPECT_TRUE(parameter) << text << ": " << parameter.error().message;
  return parameter.value_or(Parameter{});
}

std::string problem(const std::string& text) {
  const auto parameter = parse_parameter(text);
  return parameter ? "accepted" : parameter.error().message;
}

TEST(ParameterText, ReadsEachKind) {
  EXPECT_EQ(parsed("a=int:-5..-1"), (Parameter{"a", IntegerRange{-5, -1}, std::int64_t{-3}}));
  EXPECT_EQ(parsed("a=int:64K..64M:log"),
            (Parameter{"a", IntegerRange{64 << 10, 64 << 20, true}, std::int64_t{2 << 20}}));
  EXPECT_EQ(parsed("a=int:0..2G"),
            (Parameter{"a", IntegerRange{0, std::int64_t{2} << 30}, std::int64_t{1} << 30}));
  EXPECT_EQ(parsed("a=int:-9223372036854775808..9223372036854775807").domain,
            Domain(IntegerRange{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(parsed("a=float:-1.5e2..3").domain, Domain(RealRange{-150, 3}));
  EXPECT_EQ(parsed("a=float:1e-3..1e3:log").domain, Domain(RealRange{1e-3, 1e3, true}));
  EXPECT_EQ(parsed("a=float:0...5").domain, Domain(RealRange{0, 0.5}));
  EXPECT_EQ(parsed("a=levels:1,2K,1M"),
            (Parameter{"a", Levels{{std::int64_t{1}, std::int64_t{2048}, std::int64_t{1 << 20}}},
                       std::int64_t{2048}}));
  EXPECT_EQ(parsed("a=levels:-1,0.5,2"), (Parameter{"a", Levels{{-1.0, 0.5, 2.0}}, 0.5}));
  EXPECT_EQ(parsed("a=levels:7"), (Parameter{"a", Levels{{std::int64_t{7}}}, std::int64_t{7}}));
  EXPECT_EQ(parsed("a=choice:x,y=1,z:2"),
            (Parameter{"a", Choices{{"x", "y=1", "z:2"}}, std::string("x")}));
}

TEST(ParameterText, SaysWhatIsWrong) {
  const std::string grammar =
      "expected NAME=int:LO..HI[:log], NAME=float:LO..HI[:log], NAME=levels:1,2,4, "
      "NAME=choice:A,B,C, NAME=A,B,C or NAME=bool, found ";
  const std::string level = "parameter a: levels: expected integers, with " +
                            std::string(kSizeUnitsText) + ", or finite numbers, found ";
  const std::string integer = "parameter a: expected an integer within 64 bits, with " +
                              std::string(kSizeUnitsText) + ", found ";
  const std::pair<const char*, std::string> cases[] = {
      {"", grammar + "\"\""},
      {"a", grammar + "\"a\""},
      {"a=", "parameter a: " + grammar + "\"\""},
      {"a=bool:1", "parameter a: " + grammar + "\"bool:1\""},
      {"a=int", "parameter a: " + grammar + "\"int\""},
      {"a=int:5", "parameter a: expected LO..HI, found \"5\""},
      {"a=int:1..", integer + "\"\""},
      {"a=int:x..2", integer + "\"x\""},
      {"a=int:1.5..2", integer + "\"1.5\""},
      {"a=int:1..2k", integer + "\"2k\""},
      {"a=int:1..K", integer + "\"K\""},
      {"a=int:1..9223372036854775808", integer + "\"9223372036854775808\""},
      {"a=int:1..9007199254740992G", integer + "\"9007199254740992G\""},
      {"a=int:1..2:lin", "parameter a: expected nothing or :log after the range, found \":lin\""},
      {"a=int:1..2:log:log",
       "parameter a: expected nothing or :log after the range, found \":log:log\""},
      {"a=int:3..2", "parameter a: low 3 is above high 2"},
      {"a=int:0..2:log", "parameter a: a logarithmic range needs low > 0, found 0"},
      {"a=float:0..inf", "parameter a: expected a finite number, found \"inf\""},
      {"a=float:nan..1", "parameter a: expected a finite number, found \"nan\""},
      {"a=float:0..1e999", "parameter a: expected a finite number, found \"1e999\""},
      {"a=float:0..1K", "parameter a: expected a finite number, found \"1K\""},
      {"a=levels:", level + "\"\""},
      {"a=levels:1,,2", level + "\"\""},
      {"a=levels:1K,2.5", level + "\"1K\""},
      {"a=levels:1,inf", level + "\"inf\""},
      {"a=levels:2,1", "parameter a: levels must rise: 1 comes after 2"},
      {"a=choice:", "parameter a: a choice is empty"},
      {"a=choice:x,,y", "parameter a: a choice is empty"},
      {"a=choice:x,x", "parameter a: choice \"x\" is there twice"},
      {"1=int:1..2",
       "parameter name \"1\": expected letters, digits and underscores, not starting with a digit, "
       "or a knob of a region, as in regions.backward_layer1.partition_bytes, of the job's "
       "own, as in job.bucket_cap_bytes, or of a tool, as in "
       "deepspeed.zero_optimization.overlap_comm"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(problem(text), message) << text;
}

TEST(ParameterText, SetsDefaults) {
  std::vector<Parameter> parameters{parsed("a=int:1..4M"), parsed("b=float:0..1"),
                                    parsed("c=choice:x,y"), parsed("d=levels:1K,2K"),
                                    parsed("e=levels:0.5,2")};
  EXPECT_TRUE(set_default(parameters, "a=2K"));
  EXPECT_TRUE(set_default(parameters, "b=1"));
  EXPECT_TRUE(set_default(parameters, "c=y"));
  EXPECT_TRUE(set_default(parameters, "d=2K"));
  EXPECT_TRUE(set_default(parameters, "e=2"));
  EXPECT_EQ(parameters[0].default_value, ParameterValue(std::int64_t{2048}));
  EXPECT_EQ(parameters[1].default_value, ParameterValue(1.0));
  EXPECT_EQ(parameters[2].default_value, ParameterValue(std::string("y")));
  EXPECT_EQ(parameters[3].default_value, ParameterValue(std::int64_t{2048}));
  EXPECT_EQ(parameters[4].default_value, ParameterValue(2.0));

  const auto problem_of = [&](const char* text) {
    return set_default(parameters, text).error().message;
  };
  EXPECT_EQ(problem_of("a"), "default: expected NAME=VALUE, found \"a\"");
  EXPECT_EQ(problem_of("f=1"), "default: no parameter is named \"f\"; there are a, b, c, d, e");
  EXPECT_EQ(problem_of("d=3K"), "default of d: expected one of 1024, 2048, found 3072");
  EXPECT_EQ(problem_of("a=5M"),
            "default of a: expected an integer from 1 to 4194304, found 5242880");
  EXPECT_EQ(problem_of("c=z"), "default of c: expected one of x, y, found \"z\"");
}

TEST(ParameterText, MutatedTextNeverYieldsABadParameter) {
  const char* valid[] = {
      "size=int:64K..64M:log",      "a=int:-9223372036854775808..9223372036854775807",
      "x=float:-1e308..1.5e308",    "x=float:1e-300..1e300:log",
      "order=choice:fifo,priority", "n=levels:1,2,4,8K",
      "r=levels:0.5,1,2e3"};
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto parameter = parse_parameter(mutated(valid[seed % std::size(valid)], random));
    if (!parameter) continue;
    ++accepted;
    ASSERT_TRUE(validate(*parameter));
    ASSERT_TRUE(Space::make({*parameter}));
  }
  EXPECT_GT(accepted, 100);
}

TEST(ParameterSyntax, AListWithoutATypeIsLevelsOrChoices) {
  EXPECT_EQ(parse_parameter("A=unset,Ring,Tree")->domain,
            Domain(Choices{{"unset", "Ring", "Tree"}}));
  EXPECT_EQ(parse_parameter("A=unset,Ring")->default_value, ParameterValue("unset"));
  EXPECT_EQ(parse_parameter("A=8,16,1K")->domain,
            Domain(Levels{{std::int64_t{8}, std::int64_t{16}, std::int64_t{1024}}}));
  EXPECT_FALSE(parse_parameter("A=chioce:a,b")) << "a misspelt type";
  EXPECT_FALSE(parse_parameter("A=a"));
}

TEST(ParameterSyntax, ABooleanIsZeroOrOne) {
  std::vector<Parameter> parameters = {parse_parameter("A=bool").value()};
  EXPECT_EQ(parameters[0].domain, Domain(Levels{{std::int64_t{0}, std::int64_t{1}}}));
  EXPECT_EQ(parameters[0].default_value, ParameterValue(std::int64_t{0}));
  for (const char* text : {"A=true", "A=1", "A=on"}) {
    ASSERT_TRUE(set_default(parameters, text));
    EXPECT_EQ(parameters[0].default_value, ParameterValue(std::int64_t{1}));
  }
  ASSERT_TRUE(set_default(parameters, "A=False"));
  EXPECT_EQ(parameters[0].default_value, ParameterValue(std::int64_t{0}));
  EXPECT_FALSE(set_default(parameters, "A=maybe"));
}

}  // namespace
}  // namespace hocket
