// Tests the bias of a linear layer and the gradient of that, against sums on the host.

#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class ColumnSumsKernels : public KernelTest {};

TEST_F(ColumnSumsKernels, AddTheRows) {
  for_kernel_cases([](KernelCase& of) {
    // Draws from one row to many chunks of rows.
    const int rows = of.integer(0, 1) ? of.integer(1, 70) : of.integer(60, 9000);
    const int columns = rows > 1000 ? of.integer(1, 40) : of.width();
    const Vector x = of.normal(static_cast<std::size_t>(rows) * columns, 0.5f);
    const Vector before = of.normal_float32(columns);
    Vector expected(columns), expected_added(columns);
    for (int column = 0; column < columns; ++column) {
      double sum = 0;
      for (int row = 0; row < rows; ++row)
        sum += x[static_cast<std::size_t>(row) * columns + column];
      expected[column] = static_cast<float>(sum);
      expected_added[column] = static_cast<float>(sum + before[column]);
    }
    const DeviceArray in(of, x);
    const auto apply = [&](const Vector& there, bool add) {
      const DeviceArray scratch =
          float32_array(of, junk(kernels::column_sums_scratch_floats(rows, columns)));
      const DeviceArray out = float32_array(of, there);
      EXPECT_TRUE(kernels::column_sums(rows, columns, of.type, in.data(), scratch.as<float>(),
                                       out.as<float>(), add, kernel_device()->stream()));
      return out.read();
    };
    expect_close(same_each_time([&] { return apply(junk(columns), false); }), expected,
                 ElementType::float32, 1e-4f);
    expect_close(same_each_time([&] { return apply(before, true); }), expected_added,
                 ElementType::float32, 1e-4f);
  });
}

TEST_F(ColumnSumsKernels, ABiasIsAddedToEveryRow) {
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
