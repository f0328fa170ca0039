// Tests that a failed launch reports the reason.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_device.h"

namespace hocket {
namespace {

TEST(Launch, WithoutADeviceSaysWhatCudaSays) {
  if (kernel_device()) GTEST_SKIP() << "there is a device";
  float value = 0;
  const auto launched = kernels::gelu_forward(1, ElementType::float32, &value, &value, {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, ErrorCode::unavailable);
  EXPECT_THAT(launched.error().message, testing::StartsWith("gelu_forward: "));
  EXPECT_THAT(launched.error().message, testing::HasSubstr("cudaError"));
}

TEST(Launch, RefusesWhatTheDeviceCannotRun) {
  KernelDevice* device = kernel_device();
  if (!device) GTEST_SKIP() << "there is no device";
  // Exceeds the largest grid in the second dimension.
  const int columns = 32 * 65536;
  const auto launched = kernels::column_sums(1, columns + 1, ElementType::float32, nullptr, nullptr,
                                             nullptr, false, device->stream());
  ASSERT_FALSE(launched);
  EXPECT_THAT(launched.error().message, testing::StartsWith("column_sums: "));
  // The next launch does not report the error again.
  void* memory = device->allocate(16);
  EXPECT_TRUE(kernels::gelu_forward(4, ElementType::float32, memory, memory, device->stream()));
  device->release(memory);
}

}  // namespace
}  // namespace hocket
