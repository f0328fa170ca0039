// Tests the sequence of steps' batches, and the counts that identify each batch's step.

#include <algorithm>
#include <bit>

#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class CountKernels : public KernelTest {};

/// Tokens are written and read as floats with the same bits.
Vector bits_of(const std::vector<std::int32_t>& tokens) {
  Vector bits(tokens.size());
  std::ranges::transform(tokens, bits.begin(),
                         [](std::int32_t token) { return std::bit_cast<float>(token); });
  return bits;
}

TEST_F(CountKernels, BatchesTakeTurns) {
  for_kernel_cases([](KernelCase& of) {
    const auto size = static_cast<std::size_t>(of.integer(1, 3000));
    const int batches = of.integer(1, 3);
    const auto tokens = of.tokens(size * batches, 50'000);
    const DeviceArray drawn(tokens);
    const DeviceCount step(of.integer(0, 100));
    for (int i = 0; i <= batches; ++i) {
      const std::int64_t turn = step.read();
      const DeviceArray loaded = float32_array(of, junk(size));
      ASSERT_TRUE(
          kernels::load_batch({.first = drawn.as<std::int32_t>(), .tokens = size, .count = batches},
                              step.data(), loaded.as<std::int32_t>(), kernel_device()->stream()));
      const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(turn % batches * size);
      EXPECT_EQ(loaded.read(), bits_of({first, first + static_cast<std::ptrdiff_t>(size)}));
      ASSERT_TRUE(kernels::advance(step.data(), kernel_device()->stream()));
      EXPECT_EQ(step.read(), turn + 1);
    }
  });
}

// Counts exceed an int, as the indices of losses may.
TEST_F(CountKernels, AdvanceBeyond32Bits) {
  const DeviceCount count((std::int64_t{1} << 32) - 1);
  ASSERT_TRUE(kernels::advance(count.data(), kernel_device()->stream()));
  EXPECT_EQ(count.read(), std::int64_t{1} << 32);
}

}  // namespace
}  // namespace hocket
