#include "core/graph/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/graph.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr NumberType kFloats = NumberType::float32, kInts = NumberType::int32;

/// Returns the types of an operation's results as text, or its error.
std::string types_of(OperationKind kind, const std::vector<ValueType>& operands,
                     const Attributes& attributes = {}) {
  const auto all = complete(kind, attributes);
  if (!all) return std::string(all.error().message);
  const auto types = result_types(kind, *all, operands);
  if (!types) return std::string(types.error().message);
  std::string text;
  for (const ValueType& type : *types) text += (text.empty() ? "" : "; ") + to_string(type);
  return text;
}

TEST(Operation, EachKindHasANameThatIsRead) {
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    EXPECT_EQ(declaration_of(kind).kind, kind);
    EXPECT_FALSE(declaration_of(kind).results.empty());
    EXPECT_EQ(parse_operation_kind(to_string(kind)).value(), kind);
  }
  EXPECT_THAT(parse_operation_kind("matmull").error().message,
              AllOf(HasSubstr("\"matmull\""), HasSubstr("did you mean \"matmul\"")));
}

TEST(Operation, AttributesAreCompletedAndChecked) {
  const auto norm = complete(OperationKind::layer_norm, {});
  EXPECT_EQ(norm->number("epsilon"), 1e-5);
  EXPECT_EQ(complete(OperationKind::scale, {{"factor", std::int64_t{2}}})->number("factor"), 2.0);
  EXPECT_THAT(complete(OperationKind::scale, {}).error().message, HasSubstr("factor: is missing"));
  EXPECT_THAT(complete(OperationKind::layer_norm, {{"epsilon", 2.0}}).error().message,
              HasSubstr("epsilon: expected 0 to 1"));
  EXPECT_THAT(complete(OperationKind::layer_norm, {{"epsilon", true}}).error().message,
              HasSubstr("epsilon: expected a number"));
  EXPECT_THAT(complete(OperationKind::layer_norm, {{"epsilom", 1.0}}).error().message,
              HasSubstr("did you mean \"epsilon\""));
}

TEST(Operation, ElementwiseOperandsAreBroadcast) {
  EXPECT_EQ(types_of(OperationKind::add, {{kFloats, {4, 1, 3}}, {kFloats, {5, 1}}}),
            "float32[4, 5, 3]");
  EXPECT_EQ(types_of(OperationKind::add, {{kFloats, {2}}, {kFloats, {}}}), "float32[2]");
  EXPECT_THAT(types_of(OperationKind::add, {{kFloats, {2}}, {kFloats, {3}}}),
              HasSubstr("cannot be broadcast"));
  EXPECT_THAT(types_of(OperationKind::add, {{kFloats, {2}}, {NumberType::float16, {2}}}),
              HasSubstr("b: expected float32, found float16[2]"));
  EXPECT_THAT(types_of(OperationKind::add, {{kInts, {2}}, {kInts, {2}}}),
              HasSubstr("a: expected floating-point numbers"));
  EXPECT_THAT(types_of(OperationKind::add, {{kFloats, {2}}}), HasSubstr("expected 2 operands"));
}

TEST(Operation, ProductsSumOneDimension) {
  const Attributes ta{{"transpose_a", true}}, tb{{"transpose_b", true}};
  EXPECT_EQ(types_of(OperationKind::matmul, {{kFloats, {7, 2, 3}}, {kFloats, {3, 5}}}),
            "float32[7, 2, 5]");
  EXPECT_EQ(types_of(OperationKind::matmul, {{kFloats, {3, 2}}, {kFloats, {3, 5}}}, ta),
            "float32[2, 5]");
  EXPECT_EQ(types_of(OperationKind::matmul, {{kFloats, {2, 3}}, {kFloats, {9, 5, 3}}}, tb),
            "float32[9, 2, 5]");
  EXPECT_THAT(types_of(OperationKind::matmul, {{kFloats, {2, 3}}, {kFloats, {4, 5}}}),
              HasSubstr("b: expected 3 numbers in the dimension that is summed"));
  EXPECT_THAT(types_of(OperationKind::matmul, {{kFloats, {3}}, {kFloats, {3, 5}}}),
              HasSubstr("a: expected at least 2 dimensions"));
}

TEST(Operation, SelectBroadcastsThreeOperands) {
  EXPECT_EQ(types_of(OperationKind::select, {{kFloats, {}}, {kFloats, {4, 1}}, {kFloats, {3}}}),
            "float32[4, 3]");
  EXPECT_THAT(types_of(OperationKind::select, {{kFloats, {2}}, {kFloats, {1}}, {kFloats, {3}}}),
              HasSubstr("cannot be broadcast"));
  EXPECT_THAT(types_of(OperationKind::select,
                       {{kFloats, {2}}, {kFloats, {2}}, {NumberType::bfloat16, {2}}}),
              HasSubstr("b: expected float32, found bfloat16[2]"));
  EXPECT_THAT(types_of(OperationKind::select, {{kInts, {2}}, {kFloats, {2}}, {kFloats, {2}}}),
              HasSubstr("condition: expected floating-point numbers"));
}

TEST(Operation, FinitenessIsOneNumber) {
  EXPECT_EQ(types_of(OperationKind::is_finite, {{NumberType::float16, {4, 3}}}), "float32[]");
  EXPECT_THAT(types_of(OperationKind::is_finite, {{kInts, {4}}}),
              HasSubstr("x: expected floating-point numbers"));
}

/// Returns the types of a product of bfloat16 [4, 3] and [3, 5], with more operands.
std::string product_types(const std::vector<ValueType>& more, const Attributes& attributes,
                          const Shape& a = {4, 3}) {
  std::vector<ValueType> operands{{NumberType::bfloat16, a}, {NumberType::bfloat16, {3, 5}}};
  operands.insert(operands.end(), more.begin(), more.end());
  return types_of(OperationKind::matmul, operands, attributes);
}

TEST(Operation, ProductsHaveEpilogues) {
  const auto type = [](const Shape& shape) { return ValueType{NumberType::bfloat16, shape}; };
  EXPECT_EQ(product_types({type({5})}, {{"bias", true}}), "bfloat16[4, 5]");
  EXPECT_EQ(product_types({type({5}), type({4, 5}), type({4, 5})},
                          {{"bias", true}, {"gradient_of", "gelu"}, {"residual", true}}),
            "bfloat16[4, 5]");
  EXPECT_EQ(product_types({}, {{"activation", "gelu"}, {"keeps_before", true}, {"sums_a", true}}),
            "bfloat16[4, 5]; bfloat16[4, 5]; bfloat16[4]");
  // The result, the residual and the sums are wide, the others are not.
  EXPECT_EQ(product_types({type({5}), {kFloats, {4, 5}}}, {{"bias", true},
                                                           {"activation", "silu"},
                                                           {"residual", true},
                                                           {"keeps_before", true},
                                                           {"sums_a", true},
                                                           {"widens", true}}),
            "float32[4, 5]; bfloat16[4, 5]; float32[4]");
  EXPECT_EQ(product_types({}, {{"sums_a", true}, {"transpose_a", true}}, {3, 4}),
            "bfloat16[4, 5]; bfloat16[4]");
  EXPECT_EQ(
      product_types({type({5}), type({2, 4, 5})}, {{"bias", true}, {"residual", true}}, {2, 4, 3}),
      "bfloat16[2, 4, 5]");
}

TEST(Operation, EpiloguesAreChecked) {
  const auto type = [](const Shape& shape) { return ValueType{NumberType::bfloat16, shape}; };
  EXPECT_THAT(product_types({}, {{"bias", true}}), HasSubstr("expected 3 operands, found 2"));
  EXPECT_THAT(product_types({type({5})}, {}), HasSubstr("expected 2 operands, found 3"));
  EXPECT_THAT(product_types({type({4})}, {{"bias", true}}),
              HasSubstr("bias: expected bfloat16[5], found bfloat16[4]"));
  EXPECT_THAT(product_types({{kFloats, {5}}}, {{"bias", true}, {"widens", true}}),
              HasSubstr("bias: expected bfloat16[5], found float32[5]"));
  EXPECT_THAT(product_types({type({4, 4})}, {{"gradient_of", "relu"}}),
              HasSubstr("before: expected bfloat16[4, 5]"));
  EXPECT_THAT(product_types({type({5})}, {{"residual", true}}),
              HasSubstr("residual: expected bfloat16[4, 5]"));
  EXPECT_THAT(product_types({type({4, 5})}, {{"residual", true}, {"widens", true}}),
              HasSubstr("residual: expected float32[4, 5], found bfloat16[4, 5]"));
  EXPECT_THAT(product_types({type({4, 5})}, {{"activation", "relu"}, {"gradient_of", "relu"}}),
              HasSubstr("gradient_of: expected none beside an activation"));
  EXPECT_THAT(product_types({}, {{"keeps_before", true}}),
              HasSubstr("keeps_before: expected an activation"));
  EXPECT_THAT(product_types({}, {{"sums_a", true}}, {2, 4, 3}),
              HasSubstr("a: expected 2 dimensions, of which one is summed"));
  EXPECT_THAT(product_types({}, {{"activation", "gelo"}}),
              AllOf(HasSubstr("activation"), HasSubstr("gelu")));
}

TEST(Operation, GradientsOfNormsTakeAResidual) {
  const ValueType x{kFloats, {2, 5, 8}}, row{kFloats, {8}}, statistic{kFloats, {2, 5, 1}};
  const Attributes with{{"residual", true}};
  EXPECT_EQ(
      types_of(OperationKind::layer_norm_gradient, {x, row, statistic, statistic, x, x}, with),
      "float32[2, 5, 8]; float32[8]; float32[8]");
  EXPECT_EQ(types_of(OperationKind::rms_norm_gradient, {x, row, statistic, x, x}, with),
            "float32[2, 5, 8]; float32[8]");
  EXPECT_THAT(types_of(OperationKind::layer_norm_gradient, {x, row, statistic, statistic, x}, with),
              HasSubstr("expected 6 operands, found 5"));
  EXPECT_THAT(types_of(OperationKind::rms_norm_gradient, {x, row, statistic, x, x}),
              HasSubstr("expected 4 operands, found 5"));
  EXPECT_THAT(
      types_of(OperationKind::layer_norm_gradient, {x, row, statistic, statistic, x, row}, with),
      HasSubstr("residual: expected float32[2, 5, 8], found float32[8]"));
  EXPECT_THAT(types_of(OperationKind::rms_norm_gradient, {x, row, statistic, x, row}, with),
              HasSubstr("residual: expected float32[2, 5, 8], found float32[8]"));
}

TEST(Operation, LayoutKeepsTheNumbers) {
  const ValueType x{kFloats, {4, 6}};
  EXPECT_EQ(types_of(OperationKind::reshape, {x}, {{"shape", Shape{2, 12}}}), "float32[2, 12]");
  EXPECT_THAT(types_of(OperationKind::reshape, {x}, {{"shape", Shape{5}}}),
              HasSubstr("x: expected the 5 numbers"));
  EXPECT_EQ(types_of(OperationKind::transpose, {x}, {{"order", Shape{-1, 0}}}), "float32[6, 4]");
  EXPECT_THAT(types_of(OperationKind::transpose, {x}, {{"order", Shape{1, 1}}}),
              HasSubstr("order: expected each dimension once"));
  const auto slice = [](std::int64_t begin, std::int64_t end) {
    return Attributes{{"dimension", std::int64_t{1}}, {"begin", begin}, {"end", end}};
  };
  EXPECT_EQ(types_of(OperationKind::slice, {x}, slice(1, 6)), "float32[4, 5]");
  EXPECT_THAT(types_of(OperationKind::slice, {x}, slice(1, 7)), HasSubstr("at most the size, 6"));
  EXPECT_THAT(types_of(OperationKind::slice, {x}, slice(3, 3)), HasSubstr("more than begin, 3"));
  EXPECT_EQ(types_of(OperationKind::pad, {x},
                     {{"dimension", std::int64_t{0}},
                      {"before", std::int64_t{1}},
                      {"after", std::int64_t{2}}}),
            "float32[7, 6]");
  EXPECT_EQ(types_of(OperationKind::concatenate, {x, {kFloats, {1, 6}}, x},
                     {{"dimension", std::int64_t{0}}}),
            "float32[9, 6]");
  EXPECT_THAT(types_of(OperationKind::concatenate, {x, {kFloats, {1, 5}}},
                       {{"dimension", std::int64_t{0}}}),
              HasSubstr("x[1]: expected float32[1, 6], found float32[1, 5]"));
  EXPECT_EQ(types_of(OperationKind::sum, {x}, {{"dimensions", Shape{0}}}), "float32[6]");
  EXPECT_EQ(types_of(OperationKind::sum, {x}, {{"dimensions", Shape{-1}}, {"keep", true}}),
            "float32[4, 1]");
  EXPECT_THAT(types_of(OperationKind::sum, {x}, {{"dimensions", Shape{2}}}),
              HasSubstr("dimensions: expected a dimension of float32[4, 6], found 2"));
}

TEST(Operation, LayersKnowTheirShapes) {
  const ValueType x{kFloats, {2, 5, 8}}, row{kFloats, {8}};
  EXPECT_EQ(types_of(OperationKind::layer_norm, {x, row, row}),
            "float32[2, 5, 8]; float32[2, 5, 1]; float32[2, 5, 1]");
  EXPECT_THAT(types_of(OperationKind::layer_norm, {x, {kFloats, {5}}, row}),
              HasSubstr("gain: expected float32[8], found float32[5]"));
  const ValueType queries{kFloats, {2, 8, 5, 4}}, keys{kFloats, {2, 2, 7, 4}};
  EXPECT_EQ(types_of(OperationKind::attention, {queries, keys, keys}, {{"causal", true}}),
            "float32[2, 8, 5, 4]; float32[2, 8, 5]");
  EXPECT_THAT(types_of(OperationKind::attention, {queries, {kFloats, {2, 3, 7, 4}}, keys}),
              HasSubstr("keys: expected a number of heads that divides the 8 of queries"));
  EXPECT_THAT(
      types_of(OperationKind::attention,
               {queries, {kFloats, {2, 2, 4, 4}}, {kFloats, {2, 2, 4, 4}}}, {{"causal", true}}),
      HasSubstr("at least the 5 positions"));
  EXPECT_EQ(types_of(OperationKind::embedding, {{kFloats, {50, 8}}, {kInts, {2, 5}}}),
            "float32[2, 5, 8]");
  EXPECT_EQ(types_of(OperationKind::cross_entropy, {x, {kInts, {2, 5}}}),
            "float32[2, 5]; float32[2, 5]");
  EXPECT_EQ(types_of(OperationKind::top_k, {x}, {{"count", std::int64_t{3}}}),
            "float32[2, 5, 3]; int32[2, 5, 3]");
  EXPECT_EQ(types_of(OperationKind::dispatch, {{kFloats, {6, 8}}, {kInts, {6, 2}}},
                     {{"expert_count", std::int64_t{4}}, {"capacity", std::int64_t{3}}}),
            "float32[4, 3, 8]; int32[6, 2]");
}

TEST(ValueType, ShapesAreChecked) {
  EXPECT_TRUE(check_shape({}));
  EXPECT_FALSE(check_shape({0}));
  EXPECT_FALSE(check_shape({-1}));
  EXPECT_FALSE(check_shape(Shape(9, 1)));
  EXPECT_FALSE(check_shape({std::int64_t{1} << 40, std::int64_t{1} << 40}));
  EXPECT_TRUE(check_shape({std::int64_t{1} << 48}));
  EXPECT_EQ((ValueType{NumberType::bfloat16, {3, 4}}).bytes(), 24);
}

TEST(Graph, ErrorsNameTheOperationAndItsRegion) {
  Graph graph;
  const ValueId x = graph.add_input("x", {kFloats, {2, 3}}).value();
  const auto wrong = graph.add(OperationKind::matmul, {x, x}, {}, "block0.mlp");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("matmul in block0.mlp: b: expected 3 numbers"));
  EXPECT_EQ(graph.operations().size(), 1u);
}

TEST(Graph, NamesAreTheirOwn) {
  Graph graph;
  const ValueId x = graph.add_input("x", {kFloats, {2}}).value();
  EXPECT_THAT(graph.add_parameter("x", {kFloats, {2}}).error().message,
              HasSubstr("another one of this name"));
  EXPECT_THAT(graph.add_input("a b", {kFloats, {2}}).error().message, HasSubstr("\"a b\""));
  EXPECT_THAT(graph.add(OperationKind::relu, {x}, {}, "r\n").error().message, HasSubstr("region"));
  ASSERT_TRUE(graph.add_output("y", x));
  EXPECT_FALSE(graph.add_output("y", x));
  EXPECT_EQ(graph.leaf("x"), x);
  EXPECT_EQ(graph.leaf("y"), std::nullopt);
  EXPECT_EQ(graph.output("y"), x);
}

}  // namespace
}  // namespace hocket
