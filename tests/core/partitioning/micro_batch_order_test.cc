#include "core/partitioning/micro_batch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/partitioning/fixtures.h"

namespace hocket::partitioning {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// Returns `batches` micro-batches of two layers, forward "f" and backward "b". Their activations
/// are data 2 and on, separate unless `shared`; their gradients are data 0 and 1, reduced in the
/// last micro-batch.
StepDescription accumulation(std::uint32_t batches, bool shared = false) {
  auto step = step_of(2 + batches, {});
  for (std::uint32_t m = 0; m < batches; ++m) {
    const auto add = [&](const char* name, std::vector<Access> accesses) {
      step.tasks.push_back(computation(name + std::to_string(m), std::move(accesses)));
      step.tasks.back().place.micro_batch = m;
    };
    const DataId activations{2 + (shared ? 0 : m)};
    add("f0.", {write(activations)});
    add("f1.", {update(activations)});
    for (const std::uint32_t layer : {1u, 0u}) {
      add(layer == 1 ? "b1." : "b0.", {update(DataId{layer}), update(activations)});
      if (m + 1 == batches)
        step.tasks.push_back(all_reduce("sum" + std::to_string(layer), 64, layer));
    }
  }
  return step;
}

std::vector<std::string> ordered(const StepDescription& step, int kept) {
  const auto order = order_micro_batches(step, kept);
  EXPECT_TRUE(order);
  std::vector<std::string> names;
  for (const std::uint32_t i : order.value_or(std::vector<std::uint32_t>{}))
    names.push_back(step.tasks[i].name);
  return names;
}

TEST(MicroBatches, OneIsKeptAsItWasSubmitted) {
  EXPECT_THAT(ordered(accumulation(2), 1), ElementsAre("f0.0", "f1.0", "b1.0", "b0.0", "f0.1",
                                                       "f1.1", "b1.1", "sum1", "b0.1", "sum0"));
}

TEST(MicroBatches, OfAGroupGoLayerByLayerSoThatTheLastLayersGradientsAreSoonComplete) {
  EXPECT_THAT(ordered(accumulation(2), 2), ElementsAre("f0.0", "f0.1", "f1.0", "f1.1", "b1.0",
                                                       "b1.1", "sum1", "b0.0", "b0.1", "sum0"));
}

TEST(MicroBatches, TheLastGroupIsFull) {
  EXPECT_THAT(ordered(accumulation(3), 2),
              ElementsAre("f0.0", "f1.0", "b1.0", "b0.0", "f0.1", "f0.2", "f1.1", "f1.2", "b1.1",
                          "b1.2", "sum1", "b0.1", "b0.2", "sum0"));
  EXPECT_EQ(ordered(accumulation(2), 9), ordered(accumulation(2), 2));
}

TEST(MicroBatches, ThatShareTheirActivationsStayAsTheyAre) {
  EXPECT_EQ(ordered(accumulation(3, true), 3), ordered(accumulation(3, true), 1));
}

TEST(MicroBatches, FitIntoTheMemory) {
  auto step = accumulation(4);
  step.micro_batch_bytes = 100;
  step.memory_limit_bytes = 399;
  EXPECT_TRUE(order_micro_batches(step, 3));
  const auto refused = order_micro_batches(step, 8);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, AllOf(StartsWith("micro_batches_kept: found 8"),
                                             HasSubstr("the most that fits is 3")));
  step.memory_limit_bytes = 400;
  EXPECT_TRUE(order_micro_batches(step, 8));
  step.memory_limit_bytes = 0;
  EXPECT_TRUE(order_micro_batches(step, 8));
}

}  // namespace
}  // namespace hocket::partitioning
