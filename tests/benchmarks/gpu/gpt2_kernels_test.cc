// Tests that what the benchmark of kernels launches accesses its operands alone, and moves as many
// bytes as it says, on an emulated device.

#include "benchmarks/gpu/gpt2_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/model_products.h"

namespace hocket {
namespace {

constexpr Gpt2Sizes kFewTokens{
    .batch = 1, .sequence = 64, .width = 64, .heads = 2, .vocabulary = 90, .columns = 96};

TEST(Gpt2KernelsOfTheBenchmark, AreTimed) {
  const KernelsInStreams kernels;
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    ModelDevice device;
    ModelProducts products(device);
    Bench bench(device, products, {.rounds = 1, .fewest_launches = 1, .rotated_bytes = 1});
    for (const TimedKernel& kernel : gpt2_kernels(bench, kFewTokens, type)) {
      const std::int64_t before = device.graph_launches();
      const std::vector<double> times = bench.times_ns(kernel);
      EXPECT_EQ(times.size(), 1u) << kernel.name;
      EXPECT_GT(*std::ranges::min_element(times), 0) << kernel.name;
      EXPECT_EQ(device.graph_launches() - before, 3) << kernel.name << ": two are not measured";
    }
    EXPECT_TRUE(device.problems().empty());
  }
}

#ifndef HOCKET_SANITIZED
/// Launches a kernel at once, on operands with space between them; checks that it stays inside, and
/// returns how many different bytes it reads and writes.
double moved_bytes(const TimedKernel& kernel) {
  constexpr std::size_t kSpace = 4096;
  std::vector<std::size_t> offsets;
  std::size_t end = kSpace;
  for (const std::size_t bytes : kernel.operands) {
    offsets.push_back(end);
    end += rounded_up(bytes) + kSpace;
  }
  std::vector<std::byte> memory(end + 256);
  std::byte* const first =
      memory.data() + 256 - reinterpret_cast<std::uintptr_t>(memory.data()) % 256;
  Operands operands;
  for (const std::size_t offset : offsets) operands.push_back(first + offset);
  std::vector<bool> moved[2] = {std::vector<bool>(end), std::vector<bool>(end)};  // read, written
  emulated::set_put_work([&](DeviceStream, const emulated::Work& work) {
    for (const emulated::AccessedMemory& accessed : work()) {
      const std::ptrdiff_t at = static_cast<const std::byte*>(accessed.begin) - first;
      if (at < 0 || at >= static_cast<std::ptrdiff_t>(end)) continue;  // not an operand's
      const auto of = std::ranges::upper_bound(offsets, static_cast<std::size_t>(at)) - 1;
      const std::size_t bytes = kernel.operands[static_cast<std::size_t>(of - offsets.begin())];
      EXPECT_TRUE(of >= offsets.begin() && at + accessed.bytes <= *of + bytes)
          << kernel.name << " leaves operand " << of - offsets.begin();
      std::fill_n(moved[accessed.writes ? 1 : 0].begin() + at, accessed.bytes, true);
    }
  });
  const auto launched = kernel.launch(operands);
  EXPECT_TRUE(launched) << launched.error().message;
  emulated::set_put_work(nullptr);
  return static_cast<double>(std::ranges::count(moved[0], true) +
                             std::ranges::count(moved[1], true));
}

TEST(Gpt2KernelsOfTheBenchmark, MoveTheirBytes) {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    ModelDevice device;
    ModelProducts products(device);
    Bench bench(device, products, {.rounds = 3, .rotated_bytes = 1});
    int checked = 0;
    for (const TimedKernel& kernel : gpt2_kernels(bench, kFewTokens, type)) {
      if (kernel.operations > 0) continue;
      // Vectors of a row's length, and sums of chunks, are not counted.
      EXPECT_NEAR(moved_bytes(kernel) / kernel.bytes, 1, 0.1) << kernel.name;
      ++checked;
    }
    EXPECT_EQ(checked, 14);
  }
}
#endif

}  // namespace
}  // namespace hocket
