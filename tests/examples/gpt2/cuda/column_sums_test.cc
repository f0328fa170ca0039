#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class ColumnSumsKernels : public KernelTest {};

TEST_F(ColumnSumsKernels, AddTheRows) {
  for_kernel_cases([](KernelCase& of) {
    // From one row to many chunks of them.
    const int rows = of.integer(0, 1) ? of.integer(1, 70) : of.integer(60, 9000);
    const int columns = rows > 1000 ? of.integer(1, 40) : of.width();
    const Vector x = of.normal(static_cast<std::size_t>(rows) * columns, 0.5f);
    Vector expected(columns);
    for (int column = 0; column < columns; ++column) {
      double sum = 0;
      for (int row = 0; row < rows; ++row)
        sum += x[static_cast<std::size_t>(row) * columns + column];
      expected[column] = static_cast<float>(sum);
    }
    const DeviceArray in(of, x);
    const Vector sums = same_each_time([&] {
      const DeviceArray scratch =
          float32_array(of, junk(kernels::column_sums_scratch_floats(rows, columns)));
      const DeviceArray out = float32_array(of, junk(columns));
      EXPECT_TRUE(kernels::column_sums(rows, columns, of.type, in.data(), scratch.as<float>(),
                                       out.as<float>(), kernel_device()->stream()));
      return out.read();
    });
    expect_close(sums, expected, ElementType::float32, 1e-4f);
  });
}

}  // namespace
}  // namespace hocket
