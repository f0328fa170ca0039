#include "kernels/cuda/cudnn/cudnn_attention.h"

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
#include "tests/core/cuda/model_device.h"
#include "tests/kernels/cuda/cudnn/random_heads.h"

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

/// Returns ‖values − expected‖ / ‖expected‖.
double relative_error(const Vector& values, const Vector& expected) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += std::pow(static_cast<double>(values[i]) - expected[i], 2);
    size += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(error / size);
}

Vector floats(const Numbers& numbers) {
  return {numbers.values.begin(), numbers.values.end()};
}

/// Results of both passes.
struct Results {
  Bits y, dqueries, dkeys, dvalues;
  Vector log_sums;
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
  Results run(const FusedAttentionPlan& attention, const RandomHeads& heads, bool captured) {
    const std::size_t size = heads.y.values.size(), rows = heads.log_sums.values.size();
    const auto bits = [&](const Numbers& numbers) { return uploaded(rounded(floats(numbers))); };
    const auto room = [&] { return uploaded(Bits(size, 0xffff)); };
    const FusedInputs in{
        .queries = bits(heads.queries), .keys = bits(heads.keys), .values = bits(heads.values)};
    void *const y = room(), *const dy = bits(heads.dy);
    const FusedGradients gradients{.queries = room(), .keys = room(), .values = room()};
    auto* const log_sums = static_cast<float*>(uploaded(Vector(rows, std::nanf(""))));
    void* const forward_workspace = uploaded(std::vector<std::uint8_t>(
        static_cast<std::size_t>(attention.forward_workspace_bytes()), 0xff));
    void* const backward_workspace = uploaded(std::vector<std::uint8_t>(
        static_cast<std::size_t>(attention.backward_workspace_bytes()), 0xff));
    if (captured) {
      EXPECT_TRUE(driver_->begin_capture(task_.stream));
    }
    const auto forward = attention.forward(in, log_sums, y, forward_workspace, task_);
    EXPECT_TRUE(forward) << forward.error().message;
    const auto backward =
        attention.backward(in, log_sums, y, dy, gradients, backward_workspace, task_);
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
    return {.y = downloaded<std::uint16_t>(y, size),
            .dqueries = downloaded<std::uint16_t>(gradients.queries, size),
            .dkeys = downloaded<std::uint16_t>(gradients.keys, size),
            .dvalues = downloaded<std::uint16_t>(gradients.values, size),
            .log_sums = downloaded<float>(log_sums, rows)};
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

TEST_F(CudnnAttentionTest, IsTheAttentionOfGraphs) {
  std::uint64_t seed = 1;
  for (const HeadSizes& sizes :
       {HeadSizes{1, 1, 64, 64, true}, HeadSizes{2, 3, 128, 64, true},
        HeadSizes{3, 2, 37, 32, true}, HeadSizes{1, 2, 2, 64, true},
        HeadSizes{2, 3, 128, 64, false}, HeadSizes{1, 4, 512, 128, true}}) {
    SCOPED_TRACE(testing::Message()
                 << sizes.batch << " × " << sizes.positions << ", seed " << seed);
    const auto prepared = attention_->prepare(sizes.shape());
    if (sizes.positions % 128 != 0 && !prepared) {
      EXPECT_THAT(prepared.error().message, testing::HasSubstr("must be at least 91600"));
      continue;
    }
    ASSERT_TRUE(prepared) << prepared.error().message;
    const RandomHeads heads(sizes, seed++);
    const Results results = run(**prepared, heads, false);
    EXPECT_LT(relative_error(floats(results.y), floats(heads.y)), 0.01);
    EXPECT_LT(relative_error(floats(results.dqueries), floats(heads.gradients[0])), 0.02);
    EXPECT_LT(relative_error(floats(results.dkeys), floats(heads.gradients[1])), 0.02);
    EXPECT_LT(relative_error(floats(results.dvalues), floats(heads.gradients[2])), 0.02);
    EXPECT_THAT(results.log_sums,
                testing::Pointwise(testing::FloatNear(2e-3f), floats(heads.log_sums)));
  }
}

TEST_F(CudnnAttentionTest, GivesTheSameBitsAgainAndFromAGraph) {
  const HeadSizes sizes{1, 4, 512, 64, true};
  const auto prepared = attention_->prepare(sizes.shape());
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(attention_->prepare(sizes.shape()), *prepared) << "it is prepared once";
  const RandomHeads heads(sizes, 1);
  const Results first = run(**prepared, heads, false);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(run(**prepared, heads, false), first);
  EXPECT_EQ(run(**prepared, heads, true), first);
}

TEST_F(CudnnAttentionTest, LooksAtNoLaterPositionIfCausal) {
  const HeadSizes sizes{1, 1, 128, 64, true};
  const auto prepared = attention_->prepare(sizes.shape());
  ASSERT_TRUE(prepared) << prepared.error().message;
  RandomHeads heads(sizes, 3);
  const Bits before = run(**prepared, heads, false).y;
  constexpr std::size_t kChanged = 77 * 64;
  for (Numbers* const each : {&heads.keys, &heads.values})
    for (std::size_t i = kChanged; i < each->values.size(); ++i) each->values[i] += 1;
  const Bits after = run(**prepared, heads, false).y;
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + kChanged, after.begin()));
  EXPECT_NE(before, after);
}

TEST_F(CudnnAttentionTest, RefusesWhatItHasNoKernelFor) {
  const auto narrow = attention_->prepare(HeadSizes{1, 2, 64, 4}.shape());
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, ErrorCode::unavailable);
  const auto single = attention_->prepare(HeadSizes{1, 2, 1, 64}.shape());
  ASSERT_FALSE(single);
  EXPECT_EQ(single.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace hocket
