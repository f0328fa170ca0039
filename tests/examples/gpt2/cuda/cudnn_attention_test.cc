#include "examples/gpt2/cuda/cudnn_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/cuda/driver/capability.h"
#include "core/cuda/driver/cuda_driver.h"
#include "core/random/split_mix.h"
#include "tests/core/cuda/model_device.h"

namespace hocket {
namespace {

using Vector = std::vector<float>;
using Bits = std::vector<std::uint16_t>;

/// Rounds to nearest, ties to even.
Bits rounded(const Vector& values) {
  Bits bits;
  for (const float value : values) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    bits.push_back(static_cast<std::uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16));
  }
  return bits;
}

Vector floats(const Bits& bits) {
  Vector values;
  for (const std::uint16_t half : bits)
    values.push_back(std::bit_cast<float>(std::uint32_t{half} << 16));
  return values;
}

/// Returns normal numbers that bfloat16 represents exactly.
Vector draw(std::size_t size, std::uint64_t key) {
  Vector values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = random_normal(key, i);
  return floats(rounded(values));
}

/// Returns ‖values − expected‖ / ‖expected‖.
double relative_error(const Vector& values, const Vector& expected) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(static_cast<double>(values[i]) - expected[i], 2);
    size += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(error / size);
}

/// Returns log Σ exp of each row of scores, in the order of the statistics.
Vector statistics_of(const AttentionShape& shape, const Vector& qkv) {
  const int head_width = shape.width / shape.heads;
  const double scale = 1 / std::sqrt(static_cast<double>(head_width));
  Vector statistics;
  for (int b = 0; b < shape.batch; ++b) {
    for (int h = 0; h < shape.heads; ++h) {
      const auto vector_at = [&](int position, int part) {
        const std::size_t row = static_cast<std::size_t>(b) * shape.sequence + position;
        return qkv.data() + (row * 3 + part) * shape.width + h * head_width;
      };
      for (int t = 0; t < shape.sequence; ++t) {
        double sum = 0;
        for (int position = 0; position <= t; ++position) {
          double score = 0;
          for (int c = 0; c < head_width; ++c)
            score += static_cast<double>(vector_at(t, 0)[c]) * vector_at(position, 1)[c];
          sum += std::exp(scale * score);
        }
        statistics.push_back(static_cast<float>(std::log(sum)));
      }
    }
  }
  return statistics;
}

/// Results of both passes.
struct Results {
  Bits y, dqkv;
  Vector statistics;
  bool operator==(const Results&) const = default;
};

class CudnnAttentionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto found = probe_cuda(); !found) GTEST_SKIP() << found.error().message;
    auto driver = open_cuda_device(0);
    ASSERT_TRUE(driver) << driver.error().message;
    driver_ = std::move(*driver);
    auto attention = open_cudnn_attention(*driver_);
    ASSERT_TRUE(attention) << attention.error().message;
    attention_ = std::move(*attention);
    task_.stream = driver_->create_stream(StreamPriority::normal).value();
  }
  void TearDown() override {
    if (!task_.stream.handle) return;
    for (void* memory : allocated_) EXPECT_TRUE(driver_->free(memory, task_.stream));
    EXPECT_TRUE(driver_->synchronize(task_.stream));
    driver_->destroy_stream(task_.stream);
  }

  template <class T>
  void* uploaded(const std::vector<T>& values) {
    const std::size_t bytes = std::max<std::size_t>(values.size() * sizeof(T), 1);
    void* const memory = driver_->allocate(bytes, task_.stream).value();
    allocated_.push_back(memory);
    copy(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }
  template <class T>
  std::vector<T> downloaded(const void* memory, std::size_t size) {
    std::vector<T> values(size);
    copy(values.data(), memory, size * sizeof(T));
    return values;
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    ASSERT_TRUE(driver_->copy(to, from, bytes, task_.stream));
    ASSERT_TRUE(driver_->synchronize(task_.stream));
  }

  /// Runs both passes on memory that holds NaN except in the inputs.
  Results run(const AttentionShape& shape, const Vector& qkv, const Vector& dy, bool captured) {
    const std::size_t rows = static_cast<std::size_t>(shape.batch) * shape.sequence;
    const std::vector<std::uint8_t> forward_scratch(attention_->forward_workspace_bytes(), 0xff),
        backward_scratch(attention_->backward_workspace_bytes(), 0xff);
    void *const in = uploaded(rounded(qkv)), *const gradient = uploaded(rounded(dy));
    void *const y = uploaded(Bits(dy.size(), 0xffff)), *const dqkv =
                                                           uploaded(Bits(qkv.size(), 0xffff));
    auto* const statistics =
        static_cast<float*>(uploaded(Vector(rows * shape.heads, std::nanf(""))));
    void *const forward_workspace = uploaded(forward_scratch), *const backward_workspace =
                                                                   uploaded(backward_scratch);
    if (captured) {
      EXPECT_TRUE(driver_->begin_capture(task_.stream));
    }
    const auto forward = attention_->forward(in, statistics, y, forward_workspace, task_);
    EXPECT_TRUE(forward) << forward.error().message;
    const auto backward =
        attention_->backward(in, statistics, y, gradient, dqkv, backward_workspace, task_);
    EXPECT_TRUE(backward) << backward.error().message;
    if (captured) {
      const auto graph = driver_->end_capture(task_.stream);
      EXPECT_TRUE(graph) << graph.error().message;
      if (graph) {
        EXPECT_TRUE(driver_->launch(*graph, task_.stream));
        EXPECT_TRUE(driver_->synchronize(task_.stream));
        driver_->destroy_graph(*graph);
      }
    }
    return {.y = downloaded<std::uint16_t>(y, dy.size()),
            .dqkv = downloaded<std::uint16_t>(dqkv, qkv.size()),
            .statistics = downloaded<float>(statistics, rows * shape.heads)};
  }

  std::unique_ptr<DeviceDriver> driver_;
  std::unique_ptr<FusedAttention> attention_;
  DeviceTask task_;
  std::vector<void*> allocated_;
};

TEST(OpenCudnnAttention, WithoutADeviceSaysWhatCudnnSays) {
  if (probe_cuda()) GTEST_SKIP() << "there is a device";
  ModelDevice device;
  const auto attention = open_cudnn_attention(device);
  ASSERT_FALSE(attention);
  EXPECT_EQ(attention.error().code, ErrorCode::unavailable);
  EXPECT_THAT(attention.error().message,
              testing::AnyOf(testing::StartsWith("cudnnCreate: CUDNN_STATUS"),
                             testing::HasSubstr("libcudnn.so.9 was not found")));
}

TEST_F(CudnnAttentionTest, IsTheAttentionOfOps) {
  use_one_blas_thread();
  std::uint64_t seed = 1;
  for (const AttentionShape& shape :
       {AttentionShape{1, 64, 1, 64}, AttentionShape{2, 128, 3, 192}, AttentionShape{3, 37, 2, 64},
        AttentionShape{1, 2, 2, 128}, AttentionShape{2, 1024, 12, 768}}) {
    SCOPED_TRACE(testing::Message() << shape.batch << " × " << shape.sequence << ", seed " << seed);
    const auto prepared = attention_->prepare(shape);
    if (shape.sequence % 128 != 0 && !prepared) {
      EXPECT_THAT(prepared.error().message, testing::HasSubstr("must be at least 91600"));
      continue;
    }
    ASSERT_TRUE(prepared) << prepared.error().message;
    const std::size_t rows = static_cast<std::size_t>(shape.batch) * shape.sequence;
    const Vector qkv = draw(rows * 3 * shape.width, seed++), dy = draw(rows * shape.width, seed++);
    Vector weights(rows * shape.heads * shape.sequence), y(dy.size()), dqkv(qkv.size());
    Vector scratch(static_cast<std::size_t>(shape.sequence) * shape.sequence);
    attention_forward(shape, qkv, weights, y);
    attention_backward(shape, qkv, weights, dy, scratch, dqkv);

    const Results results = run(shape, qkv, dy, false);
    EXPECT_LT(relative_error(floats(results.y), y), 0.01);
    EXPECT_LT(relative_error(floats(results.dqkv), dqkv), 0.02);
    EXPECT_THAT(results.statistics,
                testing::Pointwise(testing::FloatNear(2e-3f), statistics_of(shape, qkv)));
  }
}

TEST_F(CudnnAttentionTest, GivesTheSameBitsAgainAndFromAGraph) {
  const AttentionShape shape{2, 1024, 4, 256};
  ASSERT_TRUE(attention_->prepare(shape));
  const std::size_t rows = static_cast<std::size_t>(shape.batch) * shape.sequence;
  const Vector qkv = draw(rows * 3 * shape.width, 1), dy = draw(rows * shape.width, 2);
  const Results first = run(shape, qkv, dy, false);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run(shape, qkv, dy, false), first);
  EXPECT_EQ(run(shape, qkv, dy, true), first);
}

TEST_F(CudnnAttentionTest, LooksAtNoLaterPosition) {
  const AttentionShape shape{1, 128, 2, 128};
  ASSERT_TRUE(attention_->prepare(shape));
  Vector qkv = draw(std::size_t{128} * 3 * 128, 3);
  const Vector dy = draw(std::size_t{128} * 128, 4);
  const Bits before = run(shape, qkv, dy, false).y;
  constexpr std::size_t kChanged = 77;
  for (std::size_t i = kChanged * 3 * 128; i < qkv.size(); ++i) qkv[i] += 1;
  const Bits after = run(shape, qkv, dy, false).y;
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + kChanged * 128, after.begin()));
  EXPECT_NE(before, after);
}

TEST_F(CudnnAttentionTest, RefusesWhatItHasNoKernelFor) {
  const auto wrong = attention_->prepare({.batch = 1, .sequence = 64, .heads = 3, .width = 64});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_argument);
  const auto narrow = attention_->prepare({.batch = 1, .sequence = 64, .heads = 2, .width = 8});
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, ErrorCode::unavailable);
  EXPECT_THAT(narrow.error().message, testing::AnyOf(testing::HasSubstr("2 heads of width 4"),
                                                     testing::HasSubstr("must be at least 91600")));
  const auto single = attention_->prepare({.batch = 1, .sequence = 1, .heads = 2, .width = 128});
  ASSERT_FALSE(single);
  EXPECT_EQ(single.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace hocket
