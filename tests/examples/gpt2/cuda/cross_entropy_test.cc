#include <limits>

#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class CrossEntropyKernels : public KernelTest {};

struct LossResult {
  float loss = 0;
  Vector dlogits;
};

LossResult loss_on_device(const KernelCase& of, const kernels::CrossEntropyShape& shape,
                          const Vector& logits, const std::vector<std::int32_t>& targets) {
  LossResult result;
  result.dlogits = same_each_time([&] {
    const DeviceArray in(of, logits), target(targets);
    const DeviceArray row_losses = float32_array(of, junk(shape.rows));
    const DeviceArray losses = float32_array(of, junk(7));
    const DeviceCount steps(2);
    EXPECT_TRUE(kernels::cross_entropy(
        shape, of.type, in.data(), target.as<std::int32_t>(), row_losses.as<float>(),
        {.first = losses.as<float>(), .stride = 3, .steps = steps.data()},
        kernel_device()->stream()));
    const Vector all = losses.read();
    EXPECT_EQ(Vector(all.begin(), all.end() - 1), junk(6));
    EXPECT_EQ(steps.read(), 3);
    result.loss = all[6];
    return in.read();
  });
  return result;
}

TEST_F(CrossEntropyKernels, AreTheHosts) {
  for_kernel_cases([](KernelCase& of) {
    const int rows = of.integer(1, 4);
    const int vocabulary = of.integer(0, 1) ? of.width() : of.integer(1000, 5000);
    const Vector logits = of.normal(static_cast<std::size_t>(rows) * vocabulary, 3, 5);
    const auto targets = of.tokens(rows, vocabulary);
    Vector expected = logits;
    const float loss = cross_entropy(vocabulary, expected, targets);
    const LossResult result =
        loss_on_device(of, {.rows = rows, .vocabulary = vocabulary}, logits, targets);
    EXPECT_NEAR(result.loss, loss, 1e-5f * (1 + loss));
    expect_close(result.dlogits, expected, of.type, 1e-5f, 2e-7f);
  });
}

TEST_F(CrossEntropyKernels, DoNotLookAtColumnsBeyondTheVocabulary) {
  for_kernel_cases([](KernelCase& of) {
    const int rows = of.integer(1, 3), vocabulary = of.width();
    const int columns = of.integer(0, 1) ? (vocabulary + 63) / 64 * 64 : vocabulary + 5;
    const Vector logits = of.normal(static_cast<std::size_t>(rows) * vocabulary, 0, 3);
    const auto targets = of.tokens(rows, vocabulary);
    Vector dense = logits;
    const float loss = cross_entropy(vocabulary, dense, targets);
    Vector padded(static_cast<std::size_t>(rows) * columns, std::numeric_limits<float>::infinity());
    Vector expected(padded.size());
    for (int row = 0; row < rows; ++row) {
      std::copy_n(&logits[row * vocabulary], vocabulary, &padded[row * columns]);
      std::copy_n(&dense[row * vocabulary], vocabulary, &expected[row * columns]);
    }
    const LossResult result = loss_on_device(
        of, {.rows = rows, .vocabulary = vocabulary, .columns = columns}, padded, targets);
    EXPECT_NEAR(result.loss, loss, 1e-5f * (1 + loss));
    expect_close(result.dlogits, expected, of.type, 1e-5f, 2e-7f);
  });
}

TEST_F(CrossEntropyKernels, StayFiniteFarOut) {
  const KernelCase of(1, ElementType::float32, 0);
  const LossResult result = loss_on_device(of, {.rows = 1, .vocabulary = 2}, {-1e4f, 1e4f}, {0});
  EXPECT_EQ(result.loss, 2e4f);
  EXPECT_EQ(result.dlogits, (Vector{-1, 1}));
}

}  // namespace
}  // namespace hocket
