#include "core/layout/division_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph_builder.h"
#include "core/graph/maths.h"

namespace hocket {
namespace {

using ::testing::Contains;
using ::testing::Not;
using Kind = OperationKind;

/// Returns a rule as "0 - -> +": of each value the dimension that is divided, "-" if it is whole
/// and "+" if it is a partial sum; with "*n" behind it for n parts.
std::vector<std::string> rules_of(Kind kind, const std::vector<ValueType>& operands,
                                  const Attributes& attributes = {}) {
  const auto complete_attributes = complete(kind, attributes).value();
  const auto results = result_types(kind, complete_attributes, operands);
  if (!results) return {results.error().message};
  std::vector<std::string> texts;
  for (const DivisionRule& rule : division_rules(kind, complete_attributes, operands, *results)) {
    std::string text;
    const auto add = [&](const AxisLayout& state) {
      if (!text.empty()) text += " ";
      if (state.kind == AxisLayout::Kind::whole) text += "-";
      if (state.kind == AxisLayout::Kind::partial) text += "+";
      if (state.kind != AxisLayout::Kind::divided) return;
      text += std::to_string(state.place.dimension);
      if (state.place.parts > 1) text += "*" + std::to_string(state.place.parts);
    };
    for (const AxisLayout& state : rule.operands) add(state);
    text += " ->";
    for (const AxisLayout& state : rule.results) add(state);
    texts.push_back(text);
  }
  return texts;
}

constexpr NumberType kFloats = NumberType::float32, kWhole = NumberType::int32;

TEST(DivisionRules, OfAProductAreItsThreeLoops) {
  EXPECT_EQ(rules_of(Kind::matmul, {{kFloats, {4, 8, 6}}, {kFloats, {6, 10}}}),
            (std::vector<std::string>{"0 - -> 0", "1 - -> 1", "- 1 -> 2", "2 0 -> +", "+ - -> +",
                                      "- + -> +"}));
  EXPECT_THAT(
      rules_of(Kind::matmul, {{kFloats, {8, 6}}, {kFloats, {10, 6}}}, {{"transpose_b", true}}),
      Contains("- 0 -> 1"));
}

TEST(DivisionRules, OfElementwiseOperationsFollowBroadcasting) {
  EXPECT_EQ(rules_of(Kind::add, {{kFloats, {4, 8}}, {kFloats, {8}}}),
            (std::vector<std::string>{"0 - -> 0", "1 0 -> 1", "+ + -> +"}));
  EXPECT_EQ(rules_of(Kind::gelu, {{kFloats, {4}}}), (std::vector<std::string>{"0 -> 0"}));
}

TEST(DivisionRules, OfReshapesDivideParts) {
  EXPECT_EQ(rules_of(Kind::reshape, {{kFloats, {2, 8, 6}}},
                     {{"shape", std::vector<std::int64_t>{16, 6}}}),
            (std::vector<std::string>{"0 -> 0", "1 -> 0*2", "2 -> 1", "+ -> +"}));
  EXPECT_EQ(
      rules_of(Kind::reshape, {{kFloats, {24}}}, {{"shape", std::vector<std::int64_t>{3, 8}}}),
      (std::vector<std::string>{"0 -> 0", "0*3 -> 1", "+ -> +"}));
}

TEST(DivisionRules, OfSlicesDivideWhatTheyCut) {
  EXPECT_EQ(
      rules_of(
          Kind::slice, {{kFloats, {24}}},
          {{"dimension", std::int64_t{0}}, {"begin", std::int64_t{8}}, {"end", std::int64_t{16}}}),
      (std::vector<std::string>{"0*3 -> 0", "+ -> +"}));
  EXPECT_EQ(rules_of(Kind::concatenate, {{kFloats, {8, 2}}, {kFloats, {16, 2}}},
                     {{"dimension", std::int64_t{0}}}),
            (std::vector<std::string>{"0 0*2 -> 0*3", "1 1 -> 1", "+ + -> +"}));
}

TEST(DivisionRules, OfSumsMakePartialSums) {
  EXPECT_EQ(
      rules_of(Kind::sum, {{kFloats, {4, 8}}}, {{"dimensions", std::vector<std::int64_t>{0}}}),
      (std::vector<std::string>{"0 -> +", "1 -> 0", "+ -> +"}));
  EXPECT_EQ(
      rules_of(Kind::maximum, {{kFloats, {4, 8}}}, {{"dimensions", std::vector<std::int64_t>{0}}}),
      (std::vector<std::string>{"1 -> 0"}));
}

TEST(DivisionRules, OfWhatIsNotLinearTakeNoPartialSums) {
  for (const Kind kind : {Kind::gelu, Kind::softmax, Kind::exponential})
    for (const std::string& rule : rules_of(kind, {{kFloats, {4, 8}}}))
      EXPECT_THAT(rule, Not(testing::HasSubstr("+"))) << to_string(kind);
  EXPECT_THAT(rules_of(Kind::embedding, {{kFloats, {10, 6}}, {kWhole, {4}}}), Contains("0 - -> +"));
}

}  // namespace
}  // namespace hocket
