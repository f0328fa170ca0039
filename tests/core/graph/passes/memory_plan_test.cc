#include "core/graph/passes/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/graph/passes.h"
#include "core/graph/region.h"
#include "tests/core/graph/passes/passed.h"
#include "tests/core/graph/random_graph.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

MemoryPlan planned(const Graph& graph, const MemoryOptions& options = {.alignment_bytes = 4}) {
  auto plan = plan_memory(graph, options);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? std::move(*plan) : MemoryPlan();
}

TEST(MemoryPlan, MemoryIsUsedAgain) {
  const Graph graph = graph_of(R"(
%x = input "x" : float32[8]
%a = broadcast %x {shape=[4, 8]}
%b = sum %a {dimensions=[0]}
%c = broadcast %b {shape=[4, 8]}
%d = sum %c {dimensions=[0, 1]}
output "d" = %d
)");
  const MemoryPlan plan = planned(graph);
  EXPECT_EQ(plan.input_bytes, 32);
  EXPECT_FALSE(plan.place({0}));
  EXPECT_EQ(plan.live_bytes, 128 + 32);
  EXPECT_EQ(plan.arena_bytes, 128 + 32);
  EXPECT_EQ(plan.place({1})->offset_bytes, plan.place({3})->offset_bytes);
  EXPECT_EQ(plan.place({4})->last, graph.operations().size());
  EXPECT_EQ(planned(graph, {.alignment_bytes = 256}).arena_bytes, 512);
}

TEST(MemoryPlan, ReshapesAndLastUsesShareMemory) {
  const Graph graph = graph_of(R"(
%x = input "x" : float32[8]
%a = tanh %x
%b = reshape %a {shape=[2, 4]}
%c = gelu %b
%d = gelu_gradient %b, %c
output "d" = %d
)");
  const MemoryPlan plan = planned(graph);
  EXPECT_EQ(plan.owners[2], ValueId{1});
  // b is used again, so c has memory of its own, and d is written over a.
  EXPECT_EQ(plan.owners[3], ValueId{3});
  EXPECT_EQ(plan.owners[4], ValueId{1});
  EXPECT_EQ(plan.arena_bytes, 64);
}

TEST(MemoryPlan, WithSlackMemoryStaysForEarlierReaders) {
  const Graph graph = graph_of(R"(
%x = input "x" : float32[8]
%a = tanh %x
%early = sum %a {dimensions=[0]}
%b = gelu %a
%c = relu %b
%d = sum %c {dimensions=[0]}
output "early" = %early
output "d" = %d
)");
  // b is written over a, which the sum may still be reading; c over b, which nothing else reads.
  EXPECT_EQ(planned(graph).owners[3], ValueId{1});
  const MemoryPlan plan = planned(graph, {.alignment_bytes = 4, .slack_operations = 2});
  EXPECT_EQ(plan.owners[3], ValueId{3});
  EXPECT_EQ(plan.owners[4], ValueId{3});
  EXPECT_EQ(plan.place({1})->last, 3U + 2);
  EXPECT_EQ(planned(graph, {.alignment_bytes = 4, .slack_operations = 1}).owners[3], ValueId{1});
  for (const std::int64_t slack : {std::int64_t{-1}, kMostSlack + 1})
    EXPECT_FALSE(plan_memory(graph, {.slack_operations = slack}));
}

TEST(MemoryPlan, AnOperandThatIsGivenTwiceIsNotWrittenOver) {
  const MemoryPlan plan = planned(graph_of(R"(
%x = input "x" : float32[8]
%a = tanh %x
%b = add %a, %a
output "b" = %b
)"));
  EXPECT_EQ(plan.owners[2], ValueId{2});
}

TEST(MemoryPlan, TheBetterOfTwoMethodsIsTaken) {
  // By time, c is behind a, b and s, since a alone has too little room for it.
  const MemoryPlan plan = planned(graph_of(R"(
%x = input "x" : float32[10]
%a = broadcast %x {shape=[10]}
%b = broadcast %x {shape=[10]}
%s = sum %a {dimensions=[0]}
%c = broadcast %x {shape=[2, 10]}
%t = sum %b {dimensions=[0]}
%u = sum %c {dimensions=[0, 1]}
output "s" = %s
output "t" = %t
output "u" = %u
)"));
  EXPECT_EQ(plan.live_bytes, 40 + 4 + 80 + 4);
  EXPECT_EQ(plan.arena_bytes, plan.live_bytes);
}

TEST(MemoryPlan, NeighboursThatAreFreeAreOne) {
  // So many blocks are placed by time alone. Two that end make room for one as large as both.
  std::string text = "%x = input \"x\" : float32[10]\n%zero = sum %x {dimensions=[0]}\n";
  std::string last = "%zero";
  for (int i = 0; i < 7'000; ++i) {
    const std::string n = std::to_string(i);
    text += "%a" + n + " = broadcast " + last + " {shape=[1, 10]}\n";
    text += "%b" + n + " = broadcast " + last + " {shape=[10, 1]}\n";
    text += "%m" + n + " = matmul %a" + n + ", %b" + n + "\n";
    text += "%s" + n + " = reshape %m" + n + " {shape=[]}\n";
    text += "%c" + n + " = broadcast " + last + " {shape=[2, 10]}\n";
    text += "%u" + n + " = sum %c" + n + " {dimensions=[0, 1]}\n";
    text += "%r" + n + " = add %s" + n + ", %u" + n + "\n";
    last = "%r" + n;
  }
  const MemoryPlan plan = planned(graph_of(text + "output \"r\" = " + last + "\n"));
  EXPECT_LE(plan.arena_bytes, plan.live_bytes + 16);
}

TEST(MemoryPlan, AParameterIsOnlyWrittenOverByWhatItBecomes) {
  const Graph graph = graph_of(R"(
%w = parameter "w" : float32[8]
%v = parameter "velocity/w" : float32[8]
%rate = input "rate" : float32[]
%scaled = scale %w {factor=2}
%dw = tanh %scaled
%w1, %v1 = sgd %w, %dw, %v, %rate
%old = scale %v {factor=3}
output "updated/w" = %w1
output "updated/velocity/w" = %v1
output "old" = %old
)");
  const MemoryPlan plan = planned(graph);
  EXPECT_EQ(plan.parameter_bytes, 64);
  EXPECT_EQ(plan.owners[graph.output("updated/w")->index], *graph.leaf("w"));
  // The velocity is used once more, so that what it becomes must wait in the arena.
  EXPECT_TRUE(plan.place(*graph.output("updated/velocity/w")));
  // A number that only depends on a parameter is none itself.
  EXPECT_TRUE(plan.place(*graph.output("old")));
}

TEST(MemoryPlan, ASkippedStepIsWrittenOverTheParameter) {
  const Graph graph = graph_of(R"(
%w = parameter "w" : float32[8]
%dw = input "dw" : float32[8]
%v = parameter "velocity/w" : float32[8]
%rate = input "rate" : float32[]
%ok = is_finite %dw
%w1, %v1 = sgd %w, %dw, %v, %rate
%w2 = select %ok, %w1, %w
output "updated/w" = %w2
)");
  EXPECT_EQ(planned(graph).owners[graph.output("updated/w")->index], *graph.leaf("w"));
}

TEST(MemoryPlan, StepsTowardsWhatAParameterBecomesAreInItsMemory) {
  const Graph graph = graph_of(R"(
%w = parameter "w" : float32[4]
%x = input "x" : float32[4]
%g = tanh %x
%kept = scale %w {factor=0.5}
%next = subtract %kept, %g
output "updated/w" = %next
)");
  EXPECT_EQ(planned(graph).owners[3], ValueId{0});
  EXPECT_EQ(planned(graph).owners[4], ValueId{0});
  // Not where another value needs the parameter, or the value on the way.
  const Graph both = graph_of(R"(
%w = parameter "w" : float32[4]
%x = input "x" : float32[4]
%kept = scale %w {factor=0.5}
%next = subtract %kept, %x
%sum = sum %kept {dimensions=[0]}
output "updated/w" = %next
output "sum" = %sum
)");
  EXPECT_EQ(planned(both).owners[2], ValueId{2});
  EXPECT_EQ(planned(both).owners[3], ValueId{3});
}

TEST(MemoryPlan, MicroBatchesThatAreKeptHaveMemoryOfTheirOwn) {
  const Graph model = graph_of(R"(
%x = input "x" : float32[2, 8]
%w = parameter "w" : float32[8, 8]
%y = matmul %x, %w
%z = tanh %y
%loss = sum %z {dimensions=[0, 1]}
output "loss" = %loss
)");
  PassOptions options;
  options.micro_batches.count = 4;
  options.optimiser.method = OptimiserMethod::sgd;
  const Graph graph = run_passes(model, "fusion", options).value();
  const MemoryPlan one = planned(graph);
  EXPECT_GT(one.micro_batch_bytes, 0);
  for (const std::int64_t kept : {2, 3, 4}) {
    const MemoryPlan plan = planned(graph, {.alignment_bytes = 4, .micro_batches_kept = kept});
    EXPECT_EQ(plan.micro_batch_bytes, one.micro_batch_bytes);
    std::size_t found = 0;
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (!plan.places[i] || !plan.places[k]) continue;
        const MemoryPlace &here = *plan.places[i], &there = *plan.places[k];
        const auto number = [&](const MemoryPlace& place) {
          const auto first = micro_batch_of(graph.operations()[place.first].region);
          const auto last = micro_batch_of(
              graph.operations()[std::min(place.last, graph.operations().size() - 1)].region);
          return first == last ? first : std::nullopt;
        };
        const auto one_number = number(here), other = number(there);
        if (!one_number || !other || *one_number % kept == *other % kept) continue;
        ++found;
        EXPECT_TRUE(here.offset_bytes + here.bytes <= there.offset_bytes ||
                    there.offset_bytes + there.bytes <= here.offset_bytes);
      }
    }
    EXPECT_GT(found, 2U);
  }
  EXPECT_THAT(plan_memory(graph, {.micro_batches_kept = 0}).error().message,
              HasSubstr("micro-batches that are kept: expected 1 to 4096, found 0"));
}

TEST(MemoryPlan, WhatCannotBePlannedIsRefused) {
  const Graph graph = graph_of("%x = input \"x\" : float32[8]\n");
  for (const std::int64_t alignment : {0, -4, 3, 1 << 30})
    EXPECT_EQ(plan_memory(graph, {.alignment_bytes = alignment}).has_value(), alignment == 1 << 30);
  std::string vast = "%x = input \"x\" : float32[281474976710656]\n";
  for (int i = 0; i < 3000; ++i) vast += "%y" + std::to_string(i) + " = relu %x\n";
  EXPECT_THAT(plan_memory(graph_of(vast)).error().message, HasSubstr("more than 2 EiB"));
}

/// Checks that values have memory apart while both are needed, unless they share it.
void expect_apart(const Graph& graph, const MemoryPlan& plan) {
  std::int64_t most = 0;
  std::vector<std::int64_t> live(graph.operations().size() + 1);
  for (std::uint32_t i = 0; i < graph.values(); ++i) {
    if (!plan.places[i]) continue;
    const MemoryPlace& place = *plan.places[i];
    ASSERT_LE(place.offset_bytes + place.bytes, plan.arena_bytes);
    ASSERT_GE(place.bytes, graph.type({i}).bytes());
    for (std::size_t at = place.first; at <= place.last; ++at)
      most = std::max(most, live[at] += place.bytes);
    for (std::uint32_t k = 0; k < i; ++k) {
      if (!plan.places[k]) continue;
      const MemoryPlace& other = *plan.places[k];
      const bool is_at_once = place.first <= other.last && other.first <= place.last;
      const bool is_apart = place.offset_bytes + place.bytes <= other.offset_bytes ||
                            other.offset_bytes + other.bytes <= place.offset_bytes;
      ASSERT_TRUE(!is_at_once || is_apart) << i << " and " << k << "\n" << to_text(graph);
    }
  }
  EXPECT_EQ(plan.live_bytes, most);
}

/// Carries out the plan on paper: writes each value's number into the bytes that it has, and checks
/// that it is there whenever it is used.
void expect_kept(const Graph& graph, const MemoryPlan& plan) {
  std::vector<ValueId> holds(graph.values());  // by owner: what was written last
  std::size_t at = 0;
  for (const Operation& operation : graph.operations()) {
    const bool is_view = operation.kind == OperationKind::reshape;
    for (const ValueId operand : operation.operands) {
      ValueId source = operand;
      while (graph.operations()[graph.producer(source)].kind == OperationKind::reshape)
        source = graph.operations()[graph.producer(source)].operands[0];
      ASSERT_EQ(holds[plan.owners[operand.index].index], source) << to_text(graph);
      const auto& place = plan.place(operand);
      ASSERT_TRUE(!place || (place->first <= at && at <= place->last)) << to_text(graph);
    }
    ++at;
    for (std::size_t r = 0; r < graph.results(operation) && !is_view; ++r) {
      const ValueId result = graph.result(operation, r);
      holds[plan.owners[result.index].index] = result;
    }
  }
  for (const GraphOutput& output : graph.outputs()) {
    ValueId source = output.value;
    while (graph.operations()[graph.producer(source)].kind == OperationKind::reshape)
      source = graph.operations()[graph.producer(source)].operands[0];
    ASSERT_EQ(holds[plan.owners[output.value.index].index], source) << output.name;
  }
}

TEST(MemoryPlan, RandomGraphsKeepWhatTheyNeed) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Graph model = random_graph(5 + static_cast<int>(random() % 40), random);
    PassOptions options;
    options.optimiser.method = random() % 2 == 0 ? OptimiserMethod::adamw : OptimiserMethod::sgd;
    if (random() % 2 == 0) options.recomputation.regions = {"part*"};
    if (random() % 3 == 0)
      options.micro_batches.count = 2 + static_cast<std::int64_t>(random() % 3);
    const auto graph = run_passes(model, random() % 4 == 0 ? "derivative" : "fusion", options);
    ASSERT_TRUE(graph) << graph.error().message;
    const auto kept = static_cast<std::int64_t>(1 + random() % 3);
    const MemoryPlan plan = planned(
        *graph, {.alignment_bytes = 1 << (random() % 9),
                 .slack_operations = static_cast<std::int64_t>(random() % 2 * (random() % 40)),
                 .micro_batches_kept = kept});
    expect_apart(*graph, plan);
    expect_kept(*graph, plan);
    EXPECT_LE(plan.arena_bytes, 2 * plan.live_bytes * kept);
  }
}

}  // namespace
}  // namespace hocket
