#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cuda/driver/capability.h"

namespace hocket {
namespace {

TEST(CapabilityProbe, FindsDevicesOrSaysWhyNot) {
  const auto found = probe_cuda();
  if (!found) {
    EXPECT_EQ(found.error().code, ErrorCode::unavailable);
    EXPECT_THAT(found.error().message, testing::StartsWith("CUDA: "));
    return;
  }
  EXPECT_GE(found->driver_version, found->runtime_version / 1000 * 1000);
  ASSERT_FALSE(found->devices.empty());
  for (const CudaDevice& device : found->devices) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GT(device.multiprocessors, 0);
    EXPECT_GT(device.memory_bytes, 0);
  }
}

}  // namespace
}  // namespace hocket
