#include "kernels/prepared_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "core/graph/passes.h"
#include "models/gpt2.h"
#include "models/initial.h"
#include "tests/core/graph/random_graph.h"
#include "tests/kernels/host/compared.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Memory of the host that counts what is taken of it, and has no more than a limit.
class CountedMemory final : public KernelMemory {
 public:
  explicit CountedMemory(std::int64_t limit_bytes = std::int64_t{1} << 40) : limit_(limit_bytes) {}

  std::optional<std::int64_t> available_bytes() const override { return available_; }
  void set_available(std::int64_t bytes) { available_ = bytes; }
  Result<Block> allocate(std::int64_t bytes) override {
    if (taken_ + bytes > limit_) return failure(ErrorCode::unavailable, "there is no more memory");
    taken_ += bytes;
    return host_kernel_memory().allocate(bytes);
  }
  Result<Block> allocate_on_host(std::int64_t bytes) override { return allocate(bytes); }
  Result<void> write(std::byte* to, std::span<const std::byte> from) override {
    return host_kernel_memory().write(to, from);
  }
  Result<void> read(std::span<std::byte> to, const std::byte* from) override {
    return host_kernel_memory().read(to, from);
  }
  Result<void> copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    ++copies_;
    return host_kernel_memory().copy(to, from, bytes);
  }
  Result<void> take(const StepValues& values, std::byte* to) override {
    return host_kernel_memory().take(values, to);
  }
  Result<void> keep(const std::byte* from, const StepValues& values) override {
    return host_kernel_memory().keep(from, values);
  }

  std::int64_t taken() const { return taken_; }
  int copies() const { return copies_; }

 private:
  const std::int64_t limit_;
  std::optional<std::int64_t> available_;
  std::int64_t taken_ = 0;
  int copies_ = 0;
};

Result<std::unique_ptr<PreparedGraph>> prepare(const Graph& graph,
                                               KernelMemory& memory = host_kernel_memory()) {
  return PreparedGraph::prepare(graph, host_kernels(), KernelDevice::host, memory);
}

Leaves small_leaves(const Graph& graph, Random& random) {
  Leaves leaves;
  for (const Operation& operation : graph.operations()) {
    if (operation.name.empty()) continue;
    const ValueType& type = graph.type(operation.first_result);
    Numbers numbers = random_numbers(random, type.shape, 0, 1);
    numbers.type = type;
    for (double& each : numbers.values)
      each = is_floating(type.numbers) ? rounded(each, type.numbers) : 1;
    leaves.emplace(operation.name, std::move(numbers));
  }
  return leaves;
}

void write_leaves(PreparedGraph& prepared, const Leaves& leaves) {
  for (const auto& [name, numbers] : leaves) write_numbers(numbers, prepared.leaf(name).data());
}

/// Expects the outputs of the interpreter, up to rounding of numbers that are added up.
void expect_outputs(const PreparedGraph& prepared, const std::vector<Numbers>& expected) {
  const Graph& graph = prepared.graph();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    const Numbers found =
        read_numbers(graph.type(output.value), prepared.output(output.name).data());
    for (std::size_t k = 0; k < found.values.size(); ++k) {
      const double scale = std::max(1.0, std::abs(expected[i].values[k]));
      ASSERT_NEAR(found.values[k], expected[i].values[k], 2e-4 * scale) << output.name << " " << k;
    }
  }
}

TEST(PreparedGraph, ComputesWhatTheInterpreterDoes) {
  for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Graph model = random_graph(5 + static_cast<int>(random() % 30), random);
    PassOptions options;
    options.optimiser = {.method = random() % 2 == 0 ? OptimiserMethod::sgd : OptimiserMethod::none,
                         .momentum = 0.5};
    if (random() % 2 == 0) options.recomputation.regions = {"*"};
    const auto graph = run_passes(model, random() % 2 == 0 ? "fusion" : "optimiser", options);
    ASSERT_TRUE(graph) << graph.error().message;
    const auto prepared = prepare(*graph);
    ASSERT_TRUE(prepared) << prepared.error().message;
    Leaves leaves = small_leaves(*graph, random);
    for (int step = 0; step < 2; ++step) {
      write_leaves(**prepared, leaves);
      const auto done = (*prepared)->run();
      ASSERT_TRUE(done) << done.error().message;
      const auto expected = interpret(*graph, leaves);
      ASSERT_TRUE(expected) << expected.error().message;
      expect_outputs(**prepared, *expected);
    }
  }
}

TEST(PreparedGraph, TakesTheMemoryThatIsPlanned) {
  const auto model = gpt2({.layers = 2,
                           .heads = 2,
                           .width = 16,
                           .vocabulary = 32,
                           .positions = 8,
                           .sequence = 8,
                           .batch = 2});
  ASSERT_TRUE(model) << model.error().message;
  PassOptions options;
  options.optimiser.method = OptimiserMethod::adamw;
  const auto graph = run_passes(*model, "fusion", options);
  ASSERT_TRUE(graph) << graph.error().message;
  CountedMemory memory;
  const auto prepared = prepare(*graph, memory);
  ASSERT_TRUE(prepared) << prepared.error().message;
  const MemoryPlan& plan = (*prepared)->plan();
  EXPECT_EQ(memory.taken(), plan.arena_bytes + plan.parameter_bytes + plan.input_bytes);
  EXPECT_GE(plan.arena_bytes, plan_memory(*graph)->arena_bytes);
  // A step needs no copies: parameters are written over.
  const std::int32_t first = 1;
  std::memcpy((*prepared)->leaf("step").data(), &first, sizeof first);
  ASSERT_TRUE((*prepared)->run());
  EXPECT_EQ(memory.copies(), 0);
  CountedMemory little(plan.arena_bytes);
  const auto refused = prepare(*graph, little);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  // Nothing is taken where it is known that it cannot be enough.
  CountedMemory less;
  less.set_available(memory.taken() - 1);
  const auto known = prepare(*graph, less);
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().code, ErrorCode::unavailable);
  EXPECT_THAT(known.error().message, AllOf(HasSubstr("a step takes 1 MiB of memory"),
                                           HasSubstr("there are 0 MiB. Recompute more")));
  EXPECT_EQ(less.taken(), 0);
  less.set_available(memory.taken());
  EXPECT_TRUE(prepare(*graph, less));
}

TEST(PreparedGraph, TrainsAModel) {
  const Gpt2Options sizes{.layers = 2,
                          .heads = 2,
                          .width = 32,
                          .vocabulary = 16,
                          .positions = 8,
                          .sequence = 8,
                          .batch = 4};
  PassOptions options;
  options.optimiser = {.method = OptimiserMethod::adamw, .weight_decay = 0.1, .clip_norm = 1};
  const auto graph = run_passes(gpt2(sizes).value(), "fusion", options);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto prepared = prepare(*graph);
  ASSERT_TRUE(prepared) << prepared.error().message;
  Leaves leaves;
  for (const Operation& operation : graph->operations()) {
    if (operation.name.empty()) continue;
    const ValueType& type = graph->type(operation.first_result);
    Numbers numbers{type, std::vector<double>(static_cast<std::size_t>(type.count()))};
    if (operation.kind == OperationKind::parameter &&
        !operation.name.starts_with("first_moment/") &&
        !operation.name.starts_with("second_moment/")) {
      std::vector<float> values(numbers.values.size());
      draw_initial(gpt2_initial(sizes, operation.name, type.shape), 1, operation.name, 0, values);
      numbers.values.assign(values.begin(), values.end());
    }
    if (operation.kind == OperationKind::input && !is_floating(type.numbers))
      for (std::size_t i = 0; i < numbers.values.size(); ++i)
        numbers.values[i] = static_cast<double>((i + (operation.name == "targets" ? 1 : 0)) * 3 %
                                                static_cast<std::size_t>(sizes.vocabulary));
    leaves.emplace(operation.name, std::move(numbers));
  }
  leaves["rate"].values = {0.01};
  write_leaves(**prepared, leaves);
  std::vector<float> losses;
  for (int step = 1; step <= 40; ++step) {
    const std::int32_t number = step;
    std::memcpy((*prepared)->leaf("step").data(), &number, sizeof number);
    ASSERT_TRUE((*prepared)->run());
    float loss = 0;
    std::memcpy(&loss, (*prepared)->output("loss").data(), sizeof loss);
    losses.push_back(loss);
    if (step > 3) continue;
    // The first steps beside the interpreter, which goes on from what it made itself.
    leaves["step"].values = {static_cast<double>(step)};
    const auto expected = interpret(*graph, leaves);
    ASSERT_TRUE(expected) << expected.error().message;
    EXPECT_NEAR(loss, expected->at(0).values[0], 1e-4);
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const std::string& name = graph->outputs()[i].name;
      if (name.starts_with(updated_name("")))
        leaves[name.substr(updated_name("").size())] = expected->at(i);
    }
  }
  EXPECT_GT(losses.front(), 2.5);
  EXPECT_LT(losses.back(), 0.1) << testing::PrintToString(losses);
}

TEST(PreparedGraph, WhatIsLaterMovesToItsParameter) {
  // The velocity is used once more after its update, so that it cannot be written over at once.
  const ValueType type{NumberType::float32, {4}};
  GraphBuilder builder;
  const Value w = builder.parameter("w", {4}), v = builder.named_parameter("velocity/w", type);
  const Value rate = builder.input("rate", {NumberType::float32, {}});
  const auto after = builder.add_all(OperationKind::sgd, {w, w, v, rate}, {{"momentum", 1.0}});
  builder.output("old", v * 2.0);
  builder.output("updated/velocity/w", after[1]);
  const Graph graph = builder.build().value();
  CountedMemory memory;
  const auto prepared = prepare(graph, memory);
  ASSERT_TRUE(prepared) << prepared.error().message;
  write_leaves(**prepared, {{"w", numbers_of({4}, {1, 2, 3, 4})},
                            {"velocity/w", numbers_of({4}, {5, 5, 5, 5})}});
  ASSERT_TRUE((*prepared)->run());
  EXPECT_EQ(memory.copies(), 1);
  EXPECT_EQ(read_numbers(type, (*prepared)->leaf("velocity/w").data()).values,
            (std::vector<double>{6, 7, 8, 9}));
  EXPECT_EQ(read_numbers(type, (*prepared)->output("old").data()).values,
            (std::vector<double>{10, 10, 10, 10}));
}

/// Operands of each kind whose results a memory plan writes over operands.
std::vector<std::pair<OperationKind, std::vector<ValueType>>> written_over() {
  using Kind = OperationKind;
  const ValueType x{NumberType::float32, {4, 6}}, number{NumberType::float32, {}},
      whole_number{NumberType::int32, {}}, key{NumberType::int32, {2}},
      targets{NumberType::int32, {4}}, rows{NumberType::float32, {4}},
      square{NumberType::float32, {6, 6}};
  return {{Kind::add, {x, x}},
          {Kind::subtract, {x, x}},
          {Kind::multiply, {x, x}},
          {Kind::divide, {x, x}},
          {Kind::swiglu, {x, x}},
          {Kind::relu_gradient, {x, x}},
          {Kind::gelu_gradient, {x, x}},
          {Kind::silu_gradient, {x, x}},
          {Kind::softmax_gradient, {x, x}},
          {Kind::select, {number, x, x}},
          {Kind::scale, {x}},
          {Kind::exponential, {x}},
          {Kind::logarithm, {x}},
          {Kind::square_root, {x}},
          {Kind::reciprocal_square_root, {x}},
          {Kind::tanh, {x}},
          {Kind::sigmoid, {x}},
          {Kind::relu, {x}},
          {Kind::gelu, {x}},
          {Kind::silu, {x}},
          {Kind::softmax, {x}},
          {Kind::dropout, {x, key}},
          {Kind::cross_entropy_gradient, {x, targets, rows, rows}},
          {Kind::matmul, {x, square, x}},
          {Kind::adamw, {x, x, x, x, number, whole_number}},
          {Kind::sgd, {x, x, x, number}}};
}

Attributes written_attributes(OperationKind kind) {
  switch (kind) {
    case OperationKind::scale:
      return {{"factor", 2.0}};
    case OperationKind::dropout:
      return {{"rate", 0.5}, {"stream", std::int64_t{0}}};
    case OperationKind::matmul:
      return {{"residual", true}};
    default:
      return {};
  }
}

TEST(PreparedGraph, KernelsAllowWhatPlansWriteOver) {
  std::size_t pairs = 0;
  for (const auto& [kind, operands] : written_over()) {
    Graph graph;
    std::vector<ValueId> values;
    for (const ValueType& type : operands)
      values.push_back(graph.add_input("x" + std::to_string(values.size()), type).value());
    const auto added = graph.add(kind, values, written_attributes(kind));
    ASSERT_TRUE(added) << added.error().message;
    const Operation& operation = graph.operations().back();
    const auto kernel = host_kernels().make(signature_of(graph, operation), KernelDevice::host);
    ASSERT_TRUE(kernel) << kernel.error().message;
    std::size_t of_kind = 0;
    for (std::size_t r = 0; r < graph.results(operation); ++r) {
      for (const std::size_t o : in_place_operands(graph, operation, r)) {
        ++of_kind;
        const auto allowed = (*kernel)->in_place();
        EXPECT_NE(std::find(allowed.begin(), allowed.end(), InPlace{r, o}), allowed.end())
            << to_string(kind) << ": result " << r << " over operand " << o;
      }
    }
    EXPECT_GT(of_kind, 0U) << to_string(kind);
    pairs += of_kind;
  }
  EXPECT_GT(pairs, 30U);
}

TEST(PreparedGraph, AMissingKernelIsNamedBeforeTheFirstStep) {
  PassOptions options;
  options.precision.computes = NumberType::bfloat16;
  const auto model = gpt2({.layers = 1,
                           .heads = 1,
                           .width = 8,
                           .vocabulary = 8,
                           .positions = 4,
                           .sequence = 4,
                           .batch = 1});
  const auto graph = run_passes(model.value(), "fusion", options);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto prepared = prepare(*graph);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, ErrorCode::not_found);
  EXPECT_THAT(prepared.error().message, HasSubstr("in embedding: embedding of bfloat16[8, 8]"));
  EXPECT_THAT(prepared.error().message, HasSubstr("has no kernel on the host"));
}

TEST(PreparedGraph, AnIndexThatIsNoneIsNamedByItsOperation) {
  GraphBuilder builder;
  const Value indices = builder.input("indices", {NumberType::int32, {2}});
  {
    const auto region = builder.region("words");
    builder.output("y", embedding(builder.parameter("table", {4, 2}), indices));
  }
  const auto prepared = prepare(builder.build().value());
  ASSERT_TRUE(prepared) << prepared.error().message;
  write_leaves(**prepared, {{"indices", whole({2}, {0, 4})}});
  const auto done = (*prepared)->run();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("embedding in words: "));
}

}  // namespace
}  // namespace hocket
