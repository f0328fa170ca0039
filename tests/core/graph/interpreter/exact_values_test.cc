// Graphs in exact numbers: what is equal as a formula is equal, and what is not differs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/graph/derivative.h"
#include "core/graph/graph_text.h"
#include "core/graph/maths.h"
#include "tests/core/graph/evaluated.h"
#include "tests/core/graph/same_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using ::testing::HasSubstr;

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  if (graph) return std::move(*graph);
  ADD_FAILURE() << graph.error().message;
  return {};
}

/// Expects the same of two texts behind the same lines, and that a third one differs.
void expect_only_first_same(const std::string& leaves, const std::string& one,
                            const std::string& same, const std::string& other) {
  for (std::uint64_t seed = 0; seed < rounds(10); ++seed) {
    const Graph graph = parsed(leaves + one);
    expect_same(graph, parsed(leaves + same), seed);
    expect_different(graph, parsed(leaves + other), seed);
  }
}

TEST(ExactValues, ReorderedSumsAreTheSame) {
  const std::string leaves = "%a = input \"a\" : float32[3, 8]\n%b = input \"b\" : float32[8, 5]\n";
  const std::string parts = R"(%a0 = slice %a {dimension=1, begin=3, end=8}
%a1 = slice %a {dimension=1, begin=0, end=3}
%b0 = slice %b {dimension=0, begin=3, end=8}
%b1 = slice %b {dimension=0, begin=0, end=3}
%y0 = matmul %a0, %b0
%y1 = matmul %a1, %b1
)";
  expect_only_first_same(leaves, "%y = matmul %a, %b\noutput \"y\" = %y",
                         parts + "%y = add %y0, %y1\noutput \"y\" = %y",
                         parts + "%y = subtract %y0, %y1\noutput \"y\" = %y");
  expect_only_first_same(leaves, "%y = sum %a {dimensions=[0, 1]}\noutput \"y\" = %y",
                         "%t = transpose %a {order=[1, 0]}\n%s = sum %t {dimensions=[1]}\n"
                         "%y = sum %s {dimensions=[0]}\noutput \"y\" = %y",
                         "%s = slice %a {dimension=1, begin=1, end=8}\n"
                         "%y = sum %s {dimensions=[0, 1]}\noutput \"y\" = %y");
}

/// A small language model on tokens [batch, 4].
Graph model_of(std::int64_t batch) {
  GraphBuilder builder;
  const Value tokens = builder.input("tokens", {NumberType::int32, {batch, 4}});
  const Value targets = builder.input("targets", {NumberType::int32, {batch, 4}});
  Value x = embedding(builder.parameter("table", {7, 6}), tokens);
  {
    const auto region = builder.region("layer");
    const auto heads = [](Value each) {
      return transpose(reshape(each, {each.size(0), 4, 2, 3}), {0, 2, 1, 3});
    };
    const Value normal = layer_norm(x, builder.parameter("gain", {6}), builder.parameter("b", {6}));
    const Value q = builder.parameter("q", {6, 6}), k = builder.parameter("k", {6, 6});
    const Value y = attention(heads(matmul(normal, q)), heads(matmul(normal, k)), heads(normal),
                              {.causal = true});
    x = x + reshape(transpose(y, {0, 2, 1, 3}), x.shape());
    x = x + gelu(linear(rms_norm(x, builder.parameter("gain2", {6})), 6));
  }
  builder.output("loss", mean(cross_entropy(linear_without_bias(x, 7), targets)));
  return differentiate(builder.build().value()).value();
}

/// Returns the part of the inputs that the rows of a smaller batch are.
ResidueLeaves part_of(ResidueLeaves leaves, std::int64_t begin, std::int64_t rows) {
  for (const char* const name : {"tokens", "targets"}) {
    Residues& numbers = leaves.at(name);
    const auto first = numbers.values.begin() + begin * 4;
    numbers = {{NumberType::int32, {rows, 4}}, std::vector<Residue>(first, first + rows * 4)};
  }
  return leaves;
}

TEST(ExactValues, GradientsOfABatchAreThoseOfItsParts) {
  const Graph whole = model_of(4), half = model_of(2);
  for (std::uint64_t seed = 0; seed < rounds(10); ++seed) {
    SCOPED_TRACE(seed);
    const ResidueLeaves leaves = random_residues(whole, seed);
    const ResidueLeaves all = exact_outputs(whole, leaves);
    const ResidueLeaves first = exact_outputs(half, part_of(leaves, 0, 2));
    const ResidueLeaves second = exact_outputs(half, part_of(leaves, 2, 2));
    ASSERT_EQ(all.size(), 10u);
    for (const auto& [name, numbers] : all) {
      Residues mean = first.at(name), sum = mean;
      for (std::size_t i = 0; i < mean.values.size(); ++i) {
        sum.values[i] += second.at(name).values[i];
        mean.values[i] = sum.values[i] * 0.5;
      }
      EXPECT_EQ(difference_of(name, numbers, mean), "");
      EXPECT_NE(difference_of(name, numbers, sum), "");
      EXPECT_NE(difference_of(name, numbers, first.at(name)), "");
    }
  }
}

TEST(ExactValues, KindsAreTheFormulasOfWhichTheyAreMade) {
  const std::string x = "%x = input \"x\" : float32[3, 4]\n%u = input \"u\" : float32[3, 4]\n";
  const std::string y = "\noutput \"y\" = %y";
  expect_only_first_same(x, "%y = silu %x" + y, "%s = sigmoid %x\n%y = multiply %s, %x" + y,
                         "%s = sigmoid %x\n%y = multiply %s, %s" + y);
  expect_only_first_same(x, "%y = swiglu %x, %u" + y, "%s = silu %x\n%y = multiply %s, %u" + y,
                         "%s = silu %u\n%y = multiply %s, %x" + y);
  expect_only_first_same(x, "%y = reciprocal_square_root %x" + y,
                         "%r = square_root %x\n%s = divide %x, %r\n%y = divide %s, %x" + y,
                         "%y = square_root %x" + y);
  expect_only_first_same(x, "%y = tanh %x" + y,
                         "%d = scale %x {factor=2}\n%s = sigmoid %d\n%t = add %s, %s\n"
                         "%one = constant {value=1} : float32[]\n%y = subtract %t, %one" +
                             y,
                         "%y = sigmoid %x" + y);
  expect_only_first_same(x, "%y = softmax %x" + y,
                         "%m = maximum %x {dimensions=[1], keep=true}\n%c = subtract %x, %m\n"
                         "%e = exponential %c\n%s = sum %e {dimensions=[1], keep=true}\n"
                         "%y = divide %e, %s" +
                             y,
                         "%e = exponential %x\n%s = sum %e {dimensions=[1], keep=true}\n"
                         "%y = divide %e, %s" +
                             y);
  const std::string centre =
      "%s = sum %x {dimensions=[1], keep=true}\n%m = scale %s {factor=0.25}\n"
      "%c = subtract %x, %m\n";
  const std::string normal =
      "%q = multiply %c, %c\n%v = sum %q {dimensions=[1], keep=true}\n"
      "%w = scale %v {factor=0.25}\n"
      "%e = constant {value=1e-05} : float32[]\n%p = add %w, %e\n"
      "%r = reciprocal_square_root %p\n%n = multiply %c, %r\n"
      "%h = multiply %n, %g\n";
  const std::string rows = x + "%g = input \"g\" : float32[4]\n%b = input \"b\" : float32[4]\n";
  expect_only_first_same(rows, "%y, %m, %r = layer_norm %x, %g, %b" + y,
                         centre + normal + "%y = add %h, %b" + y,
                         centre + normal + "%y = add %h, %g" + y);
  expect_only_first_same(rows, "%y, %r = rms_norm %x, %g" + y,
                         "%c = scale %x {factor=1}\n" + normal + "%y = scale %h {factor=1}" + y,
                         "%y, %r = rms_norm %x, %g {epsilon=1e-06}" + y);
  expect_only_first_same(x, "%z = rotary %x\n%y = rotary %z {inverse=true}" + y,
                         "%y = reshape %x {shape=[3, 4]}" + y,
                         "%z = rotary %x\n%y = rotary %z" + y);
}

TEST(ExactValues, AttentionIsProductsWithSoftmax) {
  const std::string leaves = R"(%q = input "q" : float32[2, 2, 3, 4]
%k = input "k" : float32[2, 2, 5, 4]
%v = input "v" : float32[2, 2, 5, 6]
)";
  const auto composed = [](const std::string& factor) {
    return "%s = matmul %q, %k {transpose_b=true}\n%c = scale %s {factor=" + factor +
           "}\n%p = softmax %c\n%y = matmul %p, %v\noutput \"y\" = %y";
  };
  // The root of the width, 4, is 2 here, too.
  expect_only_first_same(leaves, "%y, %l = attention %q, %k, %v\noutput \"y\" = %y",
                         composed("0.5"), composed("0.25"));
}

TEST(ExactValues, ProductsWithEpiloguesAreTheOperationsAfterThem) {
  const std::string leaves = R"(%a = input "a" : float32[3, 4]
%b = input "b" : float32[4, 5]
%bias = input "bias" : float32[5]
%r = input "r" : float32[3, 5]
%before = input "before" : float32[3, 5]
)";
  const std::string z = "%p = matmul %a, %b\n%z = add %p, %bias\n";
  const std::string y = "\noutput \"y\" = %y", yz = y + "\noutput \"z\" = %z";
  for (const std::string function : {"relu", "gelu", "silu"}) {
    SCOPED_TRACE(function);
    const std::string activation = "bias=true, residual=true, activation=" + function;
    expect_only_first_same(
        leaves, z + "%f = " + function + " %z\n%y = add %r, %f" + yz,
        "%y, %z = matmul %a, %b, %bias, %r {keeps_before=true, " + activation + "}" + yz,
        "%f, %z = matmul %a, %b, %bias {keeps_before=true, bias=true, activation=" + function +
            "}\n%y = subtract %f, %r" + yz);
    // The residual comes after the activation, not before it.
    expect_only_first_same(leaves, z + "%f = " + function + " %z\n%y = add %f, %r" + y,
                           "%y = matmul %a, %b, %bias, %r {" + activation + "}" + y,
                           z + "%s = add %z, %r\n%y = " + function + " %s" + y);
    expect_only_first_same(
        leaves, z + "%d = " + function + "_gradient %before, %z\n%y = add %d, %r" + y,
        "%y = matmul %a, %b, %bias, %before, %r {bias=true, residual=true, gradient_of=" +
            function + "}" + y,
        z + "%d = " + function + "_gradient %z, %before\n%y = add %d, %r" + y);
  }
  const std::string sums = "\noutput \"y\" = %y\noutput \"s\" = %s";
  expect_only_first_same(leaves, "%y = matmul %a, %b\n%s = sum %a {dimensions=[1]}" + sums,
                         "%y, %s = matmul %a, %b {sums_a=true, widens=true}" + sums,
                         "%y = matmul %a, %b\n%s = maximum %a {dimensions=[1]}" + sums);
  const std::string turned = "%t = transpose %a {order=[1, 0]}\n";
  expect_only_first_same(leaves, "%y = matmul %a, %b\n%s = sum %a {dimensions=[1]}" + sums,
                         turned + "%y, %s = matmul %t, %b {transpose_a=true, sums_a=true}" + sums,
                         turned + "%y, %q = matmul %t, %b {transpose_a=true, sums_a=true}\n" +
                             "%s = scale %q {factor=-1}" + sums);
}

TEST(ExactValues, GradientsOfNormsAddTheirResidual) {
  const std::string leaves = R"(%x = input "x" : float32[3, 5]
%g = input "g" : float32[5]
%m = input "m" : float32[3, 1]
%d = input "d" : float32[3, 1]
%dy = input "dy" : float32[3, 5]
%r = input "r" : float32[3, 5]
)";
  const std::string layer = "layer_norm_gradient %x, %g, %m, %d, %dy";
  const std::string layer_end = "\noutput \"y\" = %y\noutput \"g\" = %dg\noutput \"b\" = %db";
  expect_only_first_same(leaves, "%p, %dg, %db = " + layer + "\n%y = add %r, %p" + layer_end,
                         "%y, %dg, %db = " + layer + ", %r {residual=true}" + layer_end,
                         "%y, %dg, %db = " + layer + layer_end);
  const std::string rms = "rms_norm_gradient %x, %g, %d, %dy";
  const std::string rms_end = "\noutput \"y\" = %y\noutput \"g\" = %dg";
  expect_only_first_same(leaves, "%p, %dg = " + rms + "\n%y = add %r, %p" + rms_end,
                         "%y, %dg = " + rms + ", %r {residual=true}" + rms_end,
                         "%y, %dg = " + rms + ", %x {residual=true}" + rms_end);
}

/// Returns a graph and its derivative, weighted so that each number has a gradient of its own.
Graph derived(const std::string& text) {
  return differentiate(parsed(R"(%x = parameter "x" : float32[3, 4]
%u = input "u" : float32[3, 4]
)" + text + R"(
%w = multiply %y, %u
%l = sum %w {dimensions=[0, 1]}
output "loss" = %l)"))
      .value();
}

TEST(ExactValues, GradientsOfKindsAreThoseOfTheirFormulas) {
  const std::string gelu_by_tanh = R"(%q = multiply %x, %x
%c = multiply %q, %x
%d = scale %c {factor=0.044715}
%i = add %x, %d
%j = scale %i {factor=0.7978845608028654}
%t = tanh %j
%one = constant {value=1} : float32[]
%o = add %t, %one
%h = scale %x {factor=0.5}
%y = multiply %h, %o)";
  for (std::uint64_t seed = 0; seed < rounds(10); ++seed) {
    expect_same(derived("%y = gelu %x"), derived(gelu_by_tanh), seed);
    expect_same(derived("%y = silu %x"), derived("%s = sigmoid %x\n%y = multiply %x, %s"), seed);
    expect_different(derived("%y = gelu %x"), derived("%y = silu %x"), seed);
    expect_different(derived("%y = relu %x"), derived("%y = silu %x"), seed);
  }
}

TEST(ExactValues, AnUpdateOfManyIsTheUpdatesOfEach) {
  const std::string leaves = R"(%p = parameter "p" : float32[3]
%r = parameter "r" : float32[4]
%g = input "g" : float32[3]
%h = input "h" : float32[4]
%m = parameter "m" : float32[3]
%n = parameter "n" : float32[4]
%rate = input "rate" : float32[]
%step = input "step" : int32[]
)";
  const std::string both = R"(%pr = concatenate %p, %r {dimension=0}
%gh = concatenate %g, %h {dimension=0}
%mn = concatenate %m, %n {dimension=0}
)";
  const std::string parts = R"(
%u = slice %y {dimension=0, begin=0, end=3}
%v = slice %y {dimension=0, begin=3, end=7}
output "u" = %u
output "v" = %v)";
  const std::string rates = " {beta1=0.8, weight_decay=0.1}";
  const auto adamw = [](const std::string& p, const std::string& g, const std::string& m) {
    return "%" + p + ", %" + g + ", %" + m + ", %" + m + ", %rate, %step";
  };
  expect_only_first_same(leaves,
                         "%u, %a, %b = adamw " + adamw("p", "g", "m") + rates +
                             "\n%v, %c, %d = adamw " + adamw("r", "h", "n") + rates +
                             "\noutput \"u\" = %u\noutput \"v\" = %v",
                         both + "%y, %a, %b = adamw " + adamw("pr", "gh", "mn") + rates + parts,
                         both + "%y, %a, %b = adamw " + adamw("pr", "gh", "mn") + parts);
}

/// Returns the results of an operation in exact numbers.
std::vector<Residues> exact_results(Kind kind, const std::vector<Numbers>& operands,
                                    const Attributes& attributes) {
  Graph graph;
  ResidueLeaves leaves;
  std::vector<ValueId> values;
  for (const Numbers& operand : operands) {
    const std::string name = "x" + std::to_string(values.size());
    values.push_back(graph.add_input(name, operand.type).value());
    leaves[name] = {operand.type, {operand.values.begin(), operand.values.end()}};
  }
  const ValueId first = graph.add(kind, values, attributes).value();
  const std::size_t count = graph.results(graph.operations().back());
  for (std::uint32_t i = 0; i < count; ++i)
    EXPECT_TRUE(graph.add_output("y" + std::to_string(i), {first.index + i}));
  return interpret_exactly(graph, leaves).value();
}

/// Expects the numbers of doubles, which are exact here, and returns them.
std::vector<Numbers> expect_as_doubles(Kind kind, const std::vector<Numbers>& operands,
                                       const Attributes& attributes = {}) {
  auto expected = results(kind, operands, attributes);
  const auto found = exact_results(kind, operands, attributes);
  EXPECT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<double>& values = expected[i].values;
    EXPECT_EQ(difference_of(to_string(kind), {expected[i].type, {values.begin(), values.end()}},
                            found[i]),
              "");
  }
  return expected;
}

Numbers whole_numbers(Random& random, const Shape& shape) {
  Numbers numbers = random_indices(random, shape, 9);
  numbers.type.numbers = NumberType::float32;
  for (double& each : numbers.values) each -= 4;
  return numbers;
}

TEST(ExactValues, WholeNumbersAreThoseOfDoubles) {
  for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto some = [&](const Shape& shape) { return whole_numbers(random, shape); };
    for (const Kind kind : {Kind::add, Kind::subtract, Kind::multiply, Kind::relu_gradient})
      expect_as_doubles(kind, {some({3, 4}), some({3, 4})});
    expect_as_doubles(Kind::relu, {some({3, 4})});
    expect_as_doubles(Kind::is_finite, {some({3, 4})});
    expect_as_doubles(Kind::select, {some({3, 1}), some({3, 4}), some({4})});
    expect_as_doubles(Kind::scale, {some({5})}, {{"factor", -0.375}});
    expect_as_doubles(Kind::dropout, {some({41}), random_indices(random, {2}, 99)},
                      {{"rate", 0.75}, {"stream", std::int64_t{3}}});
    const Numbers x = some({3, 4});
    expect_as_doubles(Kind::sum, {x}, {{"dimensions", Shape{0}}});
    const auto most =
        expect_as_doubles(Kind::maximum, {x}, {{"dimensions", Shape{1}}, {"keep", true}});
    expect_as_doubles(Kind::maximum_gradient, {x, most[0], numbers_of({3, 1}, {12, 24, -36})});
    expect_as_doubles(Kind::matmul, {some({2, 4, 3}), some({3, 5}), some({5}), some({2, 4, 5})},
                      {{"bias", true}, {"activation", "relu"}, {"residual", true}});
    expect_as_doubles(Kind::layer_norm_gradient, {x, some({4}), some({3, 1}), some({3, 1}), x});
    expect_as_doubles(Kind::rms_norm_gradient, {x, some({4}), some({3, 1}), x});
    expect_as_doubles(Kind::softmax_gradient, {x, some({3, 4})});
    const Numbers rows = random_indices(random, {2, 3}, 5);
    expect_as_doubles(Kind::embedding, {some({5, 2}), rows});
    expect_as_doubles(Kind::embedding_gradient, {rows, some({2, 3, 4})},
                      {{"rows", std::int64_t{5}}});
    const auto top = expect_as_doubles(Kind::top_k, {x}, {{"count", std::int64_t{2}}});
    expect_as_doubles(Kind::top_k_gradient, {top[1], some({3, 2})}, {{"size", std::int64_t{4}}});
    const Numbers experts = random_indices(random, {6, 2}, 3), weights = some({6, 2});
    const auto slots =
        expect_as_doubles(Kind::dispatch, {some({6, 3}), experts},
                          {{"expert_count", std::int64_t{3}}, {"capacity", std::int64_t{3}}});
    expect_as_doubles(Kind::dispatch_gradient, {experts, slots[1], slots[0]});
    expect_as_doubles(Kind::combine, {slots[0], experts, slots[1], weights});
    expect_as_doubles(Kind::combine_gradient, {slots[0], experts, slots[1], weights, some({6, 3})});
    expect_as_doubles(Kind::sgd, {some({6}), some({6}), some({6}), some({})},
                      {{"momentum", 0.5}, {"weight_decay", 0.25}});
  }
}

TEST(ExactValues, IndicesOutOfRangeAreRefusedAsInDoubles) {
  const Graph graph = parsed(R"(%t = parameter "t" : float32[3, 1]
%i = input "i" : int32[2]
%x = embedding %t, %i @first
output "x" = %x)");
  ResidueLeaves leaves = random_residues(graph, 1);
  const auto error_with = [&](Residue index) {
    leaves.at("i").values[1] = index;
    const auto outputs = interpret_exactly(graph, leaves);
    return outputs ? std::string() : std::string(outputs.error().message);
  };
  EXPECT_EQ(error_with(2), "");
  EXPECT_EQ(error_with(-1),
            "embedding in first: indices: expected numbers from 0 to 2, found -1 at place 1");
  EXPECT_THAT(error_with(0.5), HasSubstr("expected whole numbers of 32 bits"));
  EXPECT_THAT(error_with(0x1p31), HasSubstr("expected whole numbers of 32 bits"));
}

}  // namespace
}  // namespace hocket
