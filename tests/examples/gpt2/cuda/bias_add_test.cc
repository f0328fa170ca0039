// Tests the bias of a linear layer against a sum on the host.

#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class BiasAdd : public KernelTest {};

TEST_F(BiasAdd, AddsOneElementPerColumn) {
  for_kernel_cases([](KernelCase& of) {
    const int rows = static_cast<int>(of.integer(1, 40)), columns = static_cast<int>(of.width());
    const auto width = static_cast<std::size_t>(columns);
    const Vector bias = of.normal(width), before = of.normal(width * rows);
    Vector expected = before;
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += bias[i % width];
    const DeviceArray added(of, bias);
    const Vector y = same_each_time([&] {
      const DeviceArray out(of, before);
      EXPECT_TRUE(kernels::bias_add(rows, columns, of.type, added.data(), out.data(),
                                    kernel_device()->stream()));
      return out.read();
    });
    EXPECT_EQ(y, rounded(expected, of.type));
  });
}

}  // namespace
}  // namespace hocket
