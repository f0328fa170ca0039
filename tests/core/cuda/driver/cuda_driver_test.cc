#include "core/cuda/driver/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cuda/driver/capability.h"
#include "core/cuda/driver/cuda_stream.h"

namespace hocket {
namespace {

TEST(CudaDriver, WithoutADeviceSaysWhatTheProbeSays) {
  const auto found = probe_cuda();
  if (found) GTEST_SKIP() << "there is a device";
  const auto driver = open_cuda_device(0);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error(), found.error());
}

TEST(CudaDriver, RefusesADeviceThatIsNotThere) {
  const auto found = probe_cuda();
  if (!found) GTEST_SKIP() << found.error().message;
  for (const int ordinal : {-1, static_cast<int>(found->devices.size())}) {
    const auto driver = open_cuda_device(ordinal);
    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error().code, ErrorCode::invalid_argument);
  }
}

TEST(CudaDriver, KeepsTheOrderOfStreamsAndWaits) {
  if (const auto found = probe_cuda(); !found) GTEST_SKIP() << found.error().message;
  auto opened = open_cuda_device(0);
  ASSERT_TRUE(opened) << opened.error().message;
  DeviceDriver& driver = **opened;
  const DeviceStream first = driver.create_stream(StreamPriority::normal).value();
  const DeviceStream second = driver.create_stream(StreamPriority::urgent).value();
  const DeviceEvent done = driver.create_event(EventTiming::none).value();
  const DeviceEvent end = driver.create_event(EventTiming::none).value();
  void* memory = driver.allocate(1 << 20, first).value();
  ASSERT_TRUE(driver.record(done, first));
  ASSERT_TRUE(driver.wait(second, done));
  ASSERT_TRUE(driver.free(memory, second));
  ASSERT_TRUE(driver.record(end, second));
  ASSERT_TRUE(driver.synchronize(second));
  EXPECT_TRUE(driver.has_run(done).value());
  EXPECT_TRUE(driver.has_run(end).value());
  driver.destroy_event(done);
  driver.destroy_event(end);
  driver.destroy_stream(first);
  driver.destroy_stream(second);
}

// A query that finds the device busy must keep the launch error that was pending before.
TEST(CudaDriver, KeepsALaunchErrorUntilItIsTaken) {
  if (const auto found = probe_cuda(); !found) GTEST_SKIP() << found.error().message;
  auto opened = open_cuda_device(0);
  ASSERT_TRUE(opened) << opened.error().message;
  DeviceDriver& driver = **opened;
  ASSERT_TRUE(driver.use_device());
  EXPECT_TRUE(driver.take_launch_error());
  const DeviceStream stream = driver.create_stream(StreamPriority::normal).value();
  const DeviceEvent end = driver.create_event(EventTiming::none).value();
  constexpr std::size_t kBytes = std::size_t{1} << 28;
  void* const memory = driver.allocate(kBytes, stream).value();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(driver.fill_zero(memory, kBytes, stream));
  ASSERT_TRUE(driver.record(end, stream));
  static const int not_a_kernel = 0;
  const cudaError_t refused =
      cudaLaunchKernel(&not_a_kernel, dim3(1), dim3(1), nullptr, 0, cuda_stream(stream));
  ASSERT_NE(refused, cudaSuccess);  // which error depends on the driver
  while (!driver.has_run(end).value()) {
  }
  const auto error = driver.take_launch_error();
  ASSERT_FALSE(error);
  EXPECT_THAT(error.error().message, testing::HasSubstr(cudaGetErrorName(refused)));
  EXPECT_TRUE(driver.take_launch_error());
  ASSERT_TRUE(driver.free(memory, stream));
  ASSERT_TRUE(driver.synchronize(stream));
  driver.destroy_event(end);
  driver.destroy_stream(stream);
}

TEST(CudaDriver, LaunchesWhatItCaptured) {
  if (const auto found = probe_cuda(); !found) GTEST_SKIP() << found.error().message;
  auto opened = open_cuda_device(0);
  ASSERT_TRUE(opened) << opened.error().message;
  DeviceDriver& driver = **opened;
  const DeviceStream stream = driver.create_stream(StreamPriority::normal).value();
  ASSERT_TRUE(driver.begin_capture(stream));
  void* memory = driver.allocate(1 << 20, stream).value();
  ASSERT_TRUE(driver.free(memory, stream));
  const DeviceGraph graph = driver.end_capture(stream).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver.launch(graph, stream));
  ASSERT_TRUE(driver.synchronize(stream));
  driver.destroy_graph(graph);
  driver.destroy_stream(stream);
}

}  // namespace
}  // namespace hocket
