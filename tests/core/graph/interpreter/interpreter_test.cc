#include "core/graph/interpreter/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/graph/graph_builder.h"
#include "core/graph/graph_text.h"
#include "tests/core/graph/evaluated.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  if (graph) return std::move(*graph);
  ADD_FAILURE() << graph.error().message;
  return {};
}

std::string error_of(std::string_view text, const Leaves& leaves,
                     const InterpreterOptions& options = {}) {
  const auto outputs = interpret(graph_of(text), leaves, options);
  if (outputs) return "none";
  EXPECT_EQ(outputs.error().code, ErrorCode::invalid_argument);
  return outputs.error().message;
}

TEST(Interpreter, ReturnsOutputsInTheirOrder) {
  const Graph graph = graph_of(R"(%x = input "x" : float32[2]
%w = parameter "w" : float32[2]
%two = constant {value=2} : float32[]
%y = multiply %x, %w
%z = add %y, %two
output "z" = %z
output "y" = %y
output "again" = %z
output "x" = %x)");
  const auto outputs = interpret(
      graph, {{"x", numbers_of({2}, {3, 4})}, {"w", numbers_of({2}, {5, -1})}, {"other", {}}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(*outputs, ElementsAre(numbers_of({2}, {17, -2}), numbers_of({2}, {15, -4}),
                                    numbers_of({2}, {17, -2}), numbers_of({2}, {3, 4})));
}

TEST(Interpreter, CarriesOutWhatOutputsNeed) {
  const Graph graph = graph_of(R"(%x = input "x" : float32[2]
%absent = input "absent" : float32[2]
%i = input "i" : int32[1]
%t = reshape %x {shape=[2, 1]}
%out_of_range = embedding %t, %i
%unused = add %absent, %x
%values, %indices = top_k %x {count=1}
%twice = add %x, %x
output "twice" = %twice
output "index" = %indices)");
  const auto outputs = interpret(graph, {{"x", numbers_of({2}, {1, 7})}, {"i", whole({1}, {9})}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(*outputs, ElementsAre(numbers_of({2}, {2, 14}), whole({1}, {1})));
}

TEST(Interpreter, RefusesLeavesThatAreNotOfTheirTypes) {
  const char* const text = "%x = input \"tokens\" : int32[2] @embedding\noutput \"y\" = %x";
  EXPECT_THAT(error_of(text, {}), AllOf(HasSubstr("input \"tokens\" in embedding: "),
                                        HasSubstr("expected numbers of int32[2], found none")));
  EXPECT_THAT(error_of(text, {{"tokens", numbers_of({2}, {1, 2})}}),
              HasSubstr("expected int32[2], found float32[2]"));
  EXPECT_THAT(error_of(text, {{"tokens", whole({3}, {1, 2, 3})}}),
              HasSubstr("expected int32[2], found int32[3]"));
  EXPECT_THAT(error_of(text, {{"tokens", whole({2}, {1, 2, 3})}}),
              HasSubstr("expected 2 numbers, found 3"));
  for (const double wrong : {0.5, 2147483648.0, -2147483649.0, std::nan("")}) {
    EXPECT_THAT(error_of(text, {{"tokens", whole({2}, {1, wrong})}}),
                HasSubstr("expected whole numbers of 32 bits"))
        << wrong;
  }
  EXPECT_EQ(error_of(text, {{"tokens", whole({2}, {2147483647.0, -2147483648.0})}}), "none");
  EXPECT_THAT(error_of("%c = constant {value=0.5} : int32[]\noutput \"y\" = %c", {}),
              HasSubstr("constant: expected whole numbers"));
}

TEST(Interpreter, NamesTheOperationOfAnIndexThatIsOutOfRange) {
  const char* const text = R"(%t = parameter "t" : float32[3, 1]
%i = input "i" : int32[2]
%x = embedding %t, %i @first
output "x" = %x)";
  const Numbers table = numbers_of({3, 1}, {1, 2, 3});
  EXPECT_EQ(error_of(text, {{"t", table}, {"i", whole({2}, {0, 3})}}),
            "embedding in first: indices: expected numbers from 0 to 2, found 3 at place 1");
  EXPECT_THAT(error_of(text, {{"t", table}, {"i", whole({2}, {-1, 2})}}), HasSubstr("found -1"));
  EXPECT_EQ(error_of(text, {{"t", table}, {"i", whole({2}, {0, 2})}}), "none");
}

TEST(Interpreter, FreesValuesAfterTheirLastUse) {
  // Two values of 100 numbers live at a time, however long the chain; with the first one three.
  std::string chain = "%x = input \"x\" : float32[100]\n%y0 = add %x, %x\n";
  for (int i = 0; i < 20; ++i) {
    const std::string before = "%y" + std::to_string(i);
    chain += "%y" + std::to_string(i + 1) + " = add " + before + ", " + before + "\n";
    chain += "%unused" + std::to_string(i) + ", %i" + std::to_string(i) + " = top_k " + before +
             " {count=1}\n";
  }
  const Leaves leaves{{"x", waves({100}, 1)}};
  EXPECT_EQ(error_of(chain + "output \"y\" = %y20", leaves, {.most_numbers = 200}), "none");
  EXPECT_THAT(error_of(chain + "output \"y\" = %y20", leaves, {.most_numbers = 199}),
              AllOf(HasSubstr("add: values of 200 numbers live at the same time"),
                    HasSubstr("at most 199")));
  const std::string with_first = chain + "output \"y\" = %y20\noutput \"x\" = %x";
  EXPECT_THAT(error_of(with_first, leaves, {.most_numbers = 299}), HasSubstr("300 numbers"));
  EXPECT_EQ(error_of(with_first, leaves, {.most_numbers = 300}), "none");
}

TEST(Interpreter, FreesResultsThatNothingUses) {
  const char* const text = R"(%x = input "x" : float32[100, 2]
%g = input "g" : float32[2]
%y, %mean, %d = layer_norm %x, %g, %g
%m = broadcast %mean {shape=[4, 100, 2]}
output "m" = %m)";
  const Leaves leaves{{"x", waves({100, 2}, 1)}, {"g", waves({2}, 1)}};
  // The last operation needs 100 + 800 numbers; the unused results would be 300 more.
  EXPECT_EQ(error_of(text, leaves, {.most_numbers = 900}), "none");
  EXPECT_THAT(error_of(text, leaves, {.most_numbers = 899}), HasSubstr("900 numbers"));
}

TEST(Interpreter, RefusesMoreNumbersThanAHostHas) {
  EXPECT_THAT(error_of("%c = constant {value=1} : float32[1048576, 1048576, 256]\n"
                       "output \"c\" = %c",
                       {}),
              HasSubstr("constant: values of 281474976710656 numbers"));
}

#ifndef HOCKET_SANITIZED  // whose allocators end the program instead
TEST(Interpreter, SaysThatAHostHasNotSoMuchMemory) {
  const auto outputs = interpret(
      graph_of("%c = constant {value=1} : float32[1048576, 1048576, 256]\noutput \"c\" = %c"), {},
      {.most_numbers = kMostNumbers});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::unavailable);
}
#endif

TEST(Interpreter, RoundsEachValueOnlyIfAsked) {
  const Graph graph = graph_of(R"(%x = input "x" : bfloat16[2]
%y = add %x, %x
%z = convert %y {type=float32}
%third = constant {value=0.3333333333333333} : float16[]
output "x" = %x
output "z" = %z
output "third" = %third)");
  const Leaves leaves{{"x", numbers_of({2}, {1.001, 1e39}, NumberType::bfloat16)}};
  const auto exact = interpret(graph, leaves);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_THAT((*exact)[0].values, ElementsAre(1.001, 1e39));
  EXPECT_THAT((*exact)[1].values, ElementsAre(2.002, 2e39));
  EXPECT_THAT((*exact)[2].values, ElementsAre(0.3333333333333333));
  const auto rounding = interpret(graph, leaves, {.rounds_values = true});
  ASSERT_TRUE(rounding) << rounding.error().message;
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT((*rounding)[0].values, ElementsAre(1, infinity));
  EXPECT_THAT((*rounding)[1].values, ElementsAre(2, infinity));
  EXPECT_THAT((*rounding)[2].values, ElementsAre(0.333251953125));
}

Graph communicating(OperationKind kind, const char* group, std::int64_t ranks) {
  GraphBuilder builder;
  const Value x = builder.input("x", {NumberType::float32, {2}});
  builder.output("y", builder.add(kind, {x}, {{"group", group}, {"ranks", ranks}}));
  return builder.build().value();
}

Result<std::vector<std::vector<Numbers>>> on_ranks(const std::vector<Graph>& programs) {
  std::vector<Leaves> leaves;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const double first = static_cast<double>(rank) * 10;
    leaves.push_back({{"x", {{NumberType::float32, {2}}, {first, first + 1}}}});
  }
  const std::size_t count = programs.size();
  return interpret_ranks(programs, leaves, [count](std::string_view group, std::size_t) {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < count; ++rank) ranks.push_back(rank);
    return group == "all" ? Result<std::vector<std::size_t>>(ranks)
                          : failure(ErrorCode::invalid_argument, "no such group");
  });
}

std::vector<double> of_rank(OperationKind kind, std::size_t rank) {
  const Graph program = communicating(kind, "all", 2);
  const auto outputs = on_ranks({program, program});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return (*outputs)[rank][0].values;
}

TEST(InterpretRanks, CarriesOutCommunications) {
  using Kind = OperationKind;
  EXPECT_THAT(of_rank(Kind::all_reduce, 1), testing::ElementsAre(10, 12));
  EXPECT_THAT(of_rank(Kind::all_gather, 0), testing::ElementsAre(0, 1, 10, 11));
  EXPECT_THAT(of_rank(Kind::reduce_scatter, 1), testing::ElementsAre(12));
  EXPECT_THAT(of_rank(Kind::all_to_all, 0), testing::ElementsAre(0, 10));
  EXPECT_THAT(of_rank(Kind::all_to_all, 1), testing::ElementsAre(1, 11));
}

TEST(InterpretRanks, SaysWhoWaitsForWhom) {
  const Graph one = communicating(OperationKind::all_reduce, "all", 2);
  const Graph other = communicating(OperationKind::all_to_all, "all", 2);
  EXPECT_THAT(on_ranks({one, other}).error().message,
              testing::HasSubstr("rank 0 waits in all_reduce, while rank 1 is at all_to_all"));
  EXPECT_THAT(on_ranks({one}).error().message, testing::HasSubstr("expected a group of 2 ranks"));
  EXPECT_THAT(on_ranks({communicating(OperationKind::all_reduce, "none", 1)}).error().message,
              testing::HasSubstr("no such group"));
  EXPECT_THAT(interpret(one, {{"x", {{NumberType::float32, {2}}, {1, 2}}}}).error().message,
              testing::HasSubstr("communication with other ranks"));
}

}  // namespace
}  // namespace hocket
