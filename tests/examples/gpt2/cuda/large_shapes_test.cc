// Tests sizes of real training, where numbers of bytes and elements exceed 32 bits. Needs a real
// device.

#include <algorithm>
#include <cmath>

#include "core/cuda/driver/capability.h"
#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class LargeShapes : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    const auto found = probe_cuda();
    if (!found) return;
    const std::int64_t needed = std::int64_t{24} << 30;
    if (found->devices[0].memory_bytes < needed) {
      GTEST_SKIP() << "this needs " << needed << " bytes on the device, there are "
                   << found->devices[0].memory_bytes;
    }
  }
};

/// Zero-initialised device memory.
class Zeros {
 public:
  explicit Zeros(std::size_t bytes) : memory_(kernel_device()->allocate(bytes)) {
    const std::vector<std::byte> zeros(std::size_t{64} << 20);
    for (std::size_t at = 0; at < bytes; at += zeros.size()) {
      kernel_device()->write(as<std::byte>() + at, zeros.data(),
                             std::min(zeros.size(), bytes - at));
    }
  }
  ~Zeros() { kernel_device()->release(memory_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }
  /// Returns `count` floats from `first` on.
  Vector floats(std::size_t first, std::size_t count) const {
    Vector values(count);
    kernel_device()->read(values.data(), as<float>() + first, count * sizeof(float));
    return values;
  }

 private:
  void* memory_;
};

TEST_F(LargeShapes, CrossEntropyOfEqualLogits) {
  const kernels::CrossEntropyShape shape{.rows = 48 * 1024, .vocabulary = 50257, .columns = 50304};
  const std::size_t size = static_cast<std::size_t>(shape.rows) * shape.columns;
  const Zeros logits(size * sizeof(float)), targets(shape.rows * sizeof(std::int32_t)),
      row_losses(shape.rows * sizeof(float)), loss(sizeof(float)), steps(sizeof(std::int64_t));
  ASSERT_TRUE(kernels::cross_entropy(shape, ElementType::float32, logits.as<void>(),
                                     targets.as<std::int32_t>(), row_losses.as<float>(),
                                     {.first = loss.as<float>(), .steps = steps.as<std::int64_t>()},
                                     kernel_device()->stream()));
  EXPECT_NEAR(loss.floats(0, 1)[0], std::log(50257.0), 1e-4);
  const float share = 1.0f / 50257 / static_cast<float>(shape.rows);
  const Vector last = logits.floats(size - shape.columns, shape.columns);
  EXPECT_NEAR(last[0], share - 1.0f / static_cast<float>(shape.rows), 1e-10f);
  EXPECT_NEAR(last[1], share, 1e-5f * share);
  EXPECT_NEAR(last[50256], share, 1e-5f * share);
  EXPECT_EQ(last[50257], 0);
  EXPECT_EQ(last[50303], 0);
}

TEST_F(LargeShapes, CausalSoftmaxOfEqualScores) {
  const AttentionShape shape{.batch = 64, .sequence = 1024, .heads = 36, .width = 36};
  const std::size_t rows = static_cast<std::size_t>(shape.batch) * shape.heads * shape.sequence;
  const Zeros weights(rows * shape.sequence * sizeof(float));
  ASSERT_TRUE(kernels::softmax_causal_forward(shape, ElementType::float32, weights.as<void>(),
                                              kernel_device()->stream()));
  for (const std::size_t row : {std::size_t{0}, std::size_t{700}, rows / 2 + 33, rows - 1}) {
    const std::size_t count = row % shape.sequence + 1;
    Vector expected(shape.sequence);
    std::fill_n(expected.begin(), count, 1.0f / static_cast<float>(count));
    expect_close(weights.floats(row * shape.sequence, shape.sequence), expected,
                 ElementType::float32, 1e-6f);
  }
}

TEST_F(LargeShapes, ResidualAddOfMoreThanFourBillion) {
  const std::size_t count = (std::size_t{1} << 32) + 5;
  const Zeros x(count * 2), y(count * 2);
  const std::uint16_t one = 0x3f80, two = 0x4000;
  kernel_device()->write(x.as<std::uint16_t>() + count - 1, &one, sizeof one);
  kernel_device()->write(y.as<std::uint16_t>() + count - 1, &one, sizeof one);
  ASSERT_TRUE(kernels::residual_add(count, ElementType::bfloat16, x.as<void>(), y.as<void>(),
                                    kernel_device()->stream()));
  std::uint16_t last[2] = {};
  kernel_device()->read(last, y.as<std::uint16_t>() + count - 2, sizeof last);
  EXPECT_EQ(last[0], 0);
  EXPECT_EQ(last[1], two);
}

}  // namespace
}  // namespace hocket
