#include "core/graph/derivative.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "core/graph/graph_text.h"
#include "core/graph/interpreter/interpreter.h"
#include "tests/core/graph/derivative_samples.h"
#include "tests/core/graph/random_graph.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr NumberType kFloat32 = NumberType::float32;

double loss_of(const Graph& graph, const Leaves& leaves) {
  const auto outputs = interpret(graph, leaves);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->at(0).values.at(0) : 0;
}

/// Compares the gradients of "loss", the graph's only output, with the difference of its values at
/// two points near `leaves`, in a random direction.
void expect_gradients(const Graph& graph, const Leaves& leaves, std::mt19937_64& random) {
  const auto derived = differentiate(graph);
  ASSERT_TRUE(derived) << derived.error().message;
  const auto values = interpret(*derived, leaves);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->at(0), interpret(graph, leaves)->at(0));
  constexpr double kStep = 1e-6;
  Leaves ahead = leaves, behind = leaves;
  double expected = 0, scale = 1;
  std::normal_distribution<double> normal;
  for (std::size_t i = 1; i < derived->outputs().size(); ++i) {
    const std::string name = derived->outputs()[i].name.substr(gradient_name("").size());
    const Numbers& gradient = values->at(i);
    ASSERT_EQ(gradient.type, leaves.at(name).type);
    for (std::size_t k = 0; k < gradient.values.size(); ++k) {
      const double direction = normal(random);
      ahead.at(name).values[k] += kStep * direction;
      behind.at(name).values[k] -= kStep * direction;
      expected += gradient.values[k] * direction;
      scale += std::abs(gradient.values[k] * direction);
    }
  }
  const double found = (loss_of(graph, ahead) - loss_of(graph, behind)) / (2 * kStep);
  EXPECT_NEAR(found, expected, 1e-5 * scale) << to_text(graph);
}

TEST(Derivative, OfEachOperationIsThatOfDifferences) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::set<OperationKind> kinds;
  for (const DerivativeSample& sample : derivative_samples()) {
    const auto graph = graph_of(sample);
    ASSERT_TRUE(graph) << graph.error().message;
    for (int i = 0; i < 3; ++i)
      expect_gradients(*graph, random_leaves(*graph, {.most = sample.most}, random), random);
    kinds.insert(sample.kinds.begin(), sample.kinds.end());
  }
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    EXPECT_EQ(kinds.contains(kind), has_derivative(kind)) << to_string(kind);
  }
}

TEST(Derivative, OfRandomGraphsIsThatOfDifferences) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < rounds(40); ++round) {
    const Graph graph = random_graph(1 + static_cast<int>(random() % 30), random);
    expect_gradients(graph, random_leaves(graph, {}, random), random);
  }
}

Graph graph_of_text(const std::string& text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return *graph;
}

TEST(Derivative, IsTextAsALineAnOperation) {
  const Graph graph = graph_of_text(R"(
%x = input "x" : float32[2, 3]
%w = parameter "layer.w" : float32[4, 3] @layer
%y = matmul %x, %w {transpose_b=true} @layer
%z = relu %y @act
%loss = sum %z {dimensions=[0, 1]}
output "loss" = %loss
)");
  EXPECT_EQ(to_text(differentiate(graph).value()), R"(%0 = input "x" : float32[2, 3]
%1 = parameter "layer.w" : float32[4, 3] @layer
%2 = matmul %0, %1 {transpose_b=true} : float32[2, 4] @layer
%3 = relu %2 : float32[2, 4] @act
%4 = sum %3 {dimensions=[0, 1]} : float32[]
%5 = constant {value=1} : float32[] @/backward
%6 = reshape %5 {shape=[1, 1]} : float32[1, 1] @/backward
%7 = broadcast %6 {shape=[2, 4]} : float32[2, 4] @/backward
%8 = relu_gradient %2, %7 : float32[2, 4] @act/backward
%9 = matmul %8, %0 {transpose_a=true} : float32[4, 3] @layer/backward
output "loss" = %4
output "gradient/layer.w" = %9
)");
}

/// Returns the operations of a product's derivative, and its gradients, behind those of its graph.
std::string derivative_of_product(const std::string& a, const std::string& b,
                                  const std::string& attributes) {
  const Graph graph =
      graph_of_text("%a = parameter \"a\" : float32" + a + "\n%b = parameter \"b\" : float32" + b +
                    "\n%y = matmul %a, %b" + attributes + "\n%l = sum %y {dimensions=[0, 1, 2]}\n" +
                    "output \"loss\" = %l\n");
  const std::string text = to_text(differentiate(graph).value());
  return text.substr(text.find("%6 ="));
}

TEST(Derivative, OfABatchOfProductsWithOneMatrixIsOneProduct) {
  EXPECT_EQ(derivative_of_product("[2, 3, 4]", "[4, 5]", ""),
            R"(%6 = broadcast %5 {shape=[2, 3, 5]} : float32[2, 3, 5] @/backward
%7 = matmul %6, %1 {transpose_b=true} : float32[2, 3, 4] @/backward
%8 = reshape %0 {shape=[6, 4]} : float32[6, 4] @/backward
%9 = reshape %6 {shape=[6, 5]} : float32[6, 5] @/backward
%10 = matmul %8, %9 {transpose_a=true} : float32[4, 5] @/backward
output "loss" = %3
output "gradient/a" = %7
output "gradient/b" = %10
)");
  EXPECT_THAT(derivative_of_product("[2, 3, 4]", "[5, 4]", " {transpose_b=true}"), HasSubstr(R"(
%8 = reshape %0 {shape=[6, 4]} : float32[6, 4] @/backward
%9 = reshape %6 {shape=[6, 5]} : float32[6, 5] @/backward
%10 = matmul %9, %8 {transpose_a=true} : float32[5, 4] @/backward
)"));
  // The rows of a transposed batch do not follow one another; nor is a batch of matrices one.
  EXPECT_THAT(derivative_of_product("[2, 4, 3]", "[4, 5]", " {transpose_a=true}"),
              HasSubstr("sum %8 {dimensions=[0]} : float32[4, 5]"));
  EXPECT_THAT(derivative_of_product("[2, 3, 4]", "[2, 4, 5]", ""),
              HasSubstr("%8 = matmul %0, %6 {transpose_a=true} : float32[2, 4, 5]"));
}

TEST(Derivative, OfASelectDoesNotGoThroughItsCondition) {
  const Graph graph = graph_of_text(R"(
%a = parameter "a" : float32[2]
%ok = is_finite %a
%one = parameter "b" : float32[]
%y = select %ok, %a, %one
%l = sum %y {dimensions=[0]}
output "loss" = %l
)");
  const auto derived = differentiate(graph);
  ASSERT_TRUE(derived) << derived.error().message;
  Leaves leaves{{"a", {{kFloat32, {2}}, {1, 2}}}, {"b", {{kFloat32, {}}, {3}}}};
  const auto finite = interpret(*derived, leaves).value();
  EXPECT_EQ(finite[1].values, (std::vector<double>{1, 1}));
  EXPECT_EQ(finite[2].values, (std::vector<double>{0}));
  leaves.at("a").values[0] = std::numeric_limits<double>::infinity();
  const auto infinite = interpret(*derived, leaves).value();
  EXPECT_EQ(infinite[0].values, (std::vector<double>{6}));
  EXPECT_EQ(infinite[1].values, (std::vector<double>{0, 0}));
  EXPECT_EQ(infinite[2].values, (std::vector<double>{2}));
}

TEST(Derivative, IsZeroByWhatTheOutputDoesNotDependOn) {
  const Graph graph = graph_of_text(R"(
%a = parameter "a" : float32[2]
%b = parameter "b" : float32[2]
%loss = sum %a {dimensions=[0]}
output "loss" = %loss
)");
  const Graph derived = differentiate(graph).value();
  const auto values =
      interpret(derived, {{"a", {{kFloat32, {2}}, {1, 2}}}, {"b", {{kFloat32, {2}}, {3, 4}}}});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->at(1).values, (std::vector<double>{1, 1}));
  EXPECT_EQ(values->at(2).values, (std::vector<double>{0, 0}));
}

TEST(Derivative, RefusesWhatHasNone) {
  const auto error_of = [](const std::string& text, const DerivativeOptions& options = {}) {
    const auto derived = differentiate(graph_of_text(text), options);
    return derived ? std::string() : std::string(derived.error().message);
  };
  const std::string w = "%w = parameter \"w\" : float32[2]\n%t = input \"t\" : int32[]\n";
  const std::string loss = "%l = sum %y {dimensions=[0]}\noutput \"loss\" = %l\n";
  EXPECT_EQ(error_of(w + "%y = relu %w\n" + loss), "");
  EXPECT_THAT(error_of(w + "%y = relu_gradient %w, %w @act\n" + loss),
              HasSubstr("relu_gradient in act: it has no derivative"));
  EXPECT_THAT(error_of(w + "%y = is_finite %w @act\n%z = multiply %w, %y\n"
                           "%l = sum %z {dimensions=[0]}\noutput \"loss\" = %l\n"),
              HasSubstr("is_finite in act: it has no derivative"));
  const std::string square = "%s = parameter \"s\" : float32[2, 2]\n";
  const std::string end = " @mlp\n%l = sum %y {dimensions=[0, 1]}\noutput \"loss\" = %l\n";
  for (const char* const product :
       {"%y = matmul %s, %s, %w {bias=true}", "%y = matmul %s, %s {activation=relu}",
        "%y = matmul %s, %s, %s {gradient_of=relu}", "%y = matmul %s, %s, %s {residual=true}"}) {
    EXPECT_THAT(error_of(w + square + product + end),
                HasSubstr("matmul in mlp: a product with an epilogue has no derivative; "
                          "fuse after the derivative"))
        << product;
  }
  EXPECT_THAT(error_of(w + "%z, %m, %d = layer_norm %w, %w, %w @n\n%y = multiply %m, %w\n" + loss),
              HasSubstr("layer_norm in n: its result \"mean\" has no derivative"));
  EXPECT_THAT(error_of(w + "%y = relu %w\noutput \"loss\" = %y\n"),
              HasSubstr("\"loss\" is float32[2], expected a single number"));
  EXPECT_THAT(error_of(w), HasSubstr("\"loss\" is no output"));
  EXPECT_THAT(error_of(w + "%y = relu %w\n" + loss, {.by = {"v"}}),
              HasSubstr("\"v\" is no input or parameter"));
  EXPECT_THAT(error_of(w + "%y = relu %w\n" + loss, {.by = {"t"}}),
              AllOf(HasSubstr("\"t\""), HasSubstr("floating-point")));
}

}  // namespace
}  // namespace hocket
