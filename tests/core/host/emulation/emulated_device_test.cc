#include "core/host/emulation/emulated_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/slept_clock.h"

namespace hocket {
namespace {

/// A device with three data: 3 is kept between steps, 4 may be moved to the host within a step, and
/// 5 is on the device alone.
struct DeviceWithData {
  explicit DeviceWithData(const EmulatedDeviceSpec& spec)
      : device(EmulatedDevice::create(spec, clock).value()) {
    std::iota(kept.begin(), kept.end(), 0.0f);
    device->add({3}, {.bytes = 400, .host = kept.data(), .is_kept = true});
    device->add({4}, {.bytes = 400, .host = moved.data()});
    device->add({5}, {.bytes = 200});
  }

  void place(PlacementSite home) {
    ASSERT_TRUE(device->place(std::vector<DataAddress>{
        {{3}, 512, home}, {{4}, 0, PlacementSite::device}, {{5}, 1024, PlacementSite::device}}));
  }

  SleptClock clock{1000};
  std::unique_ptr<EmulatedDevice> device;
  std::vector<float> kept = std::vector<float>(100), moved = std::vector<float>(100);
};

bool all_nan(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isnan(value); });
}

TEST(EmulatedDevice, ValuesMoveToTheirHome) {
  DeviceWithData data({.memory_bytes = 4096});
  data.place(PlacementSite::device);
  EXPECT_EQ(data.device->home({3}), PlacementSite::device);
  EXPECT_EQ(data.device->device_values({3})[7], 7.0f);
  std::ranges::fill(data.kept, 0.0f);
  data.place(PlacementSite::host);
  EXPECT_EQ(data.device->home({3}), PlacementSite::host);
  EXPECT_EQ(data.kept[7], 7.0f);
}

TEST(EmulatedDevice, ValuesWithinAStepAreLost) {
  DeviceWithData data({.memory_bytes = 4096});
  data.place(PlacementSite::host);
  EXPECT_TRUE(all_nan(data.device->device_values({4})));
  EXPECT_TRUE(all_nan(data.device->device_values({5})));
  EXPECT_TRUE(all_nan(data.moved));
  EXPECT_TRUE(all_nan(data.device->device_values({3}))) << "it has not been fetched";
}

TEST(EmulatedDevice, ForgettingBringsValuesHome) {
  DeviceWithData data({.memory_bytes = 4096});
  data.place(PlacementSite::device);
  data.device->device_values({3})[7] = -7;
  EXPECT_EQ(data.device->highest_address_bytes(), 1024 + 50 * 4);
  ASSERT_TRUE(data.device->forget());
  EXPECT_EQ(data.kept[7], -7.0f);
  EXPECT_FALSE(data.device->is_on_device({3}));
  EXPECT_EQ(data.device->highest_address_bytes(), 0);
}

TEST(EmulatedDevice, CopiesGoWhereTheyAreTold) {
  DeviceWithData data({.memory_bytes = 4096});
  data.place(PlacementSite::host);
  const std::span<float> on_device = data.device->on_device({3}, data.kept);
  EXPECT_NE(on_device.data(), data.kept.data());
  EXPECT_TRUE(std::isnan(on_device[7]));
  data.device->copy_to_device({3});
  EXPECT_EQ(on_device[7], 7.0f);
  on_device[7] = -7;
  EXPECT_EQ(data.kept[7], 7.0f);
  data.device->copy_to_host({3});
  EXPECT_EQ(data.kept[7], -7.0f);
}

TEST(EmulatedDevice, ACollectiveOfOtherDataIsWhereItWas) {
  DeviceWithData data({.memory_bytes = 4096});
  data.place(PlacementSite::host);
  std::vector<float> others(2);
  EXPECT_EQ(data.device->on_device({0}, others).data(), others.data());
  EXPECT_EQ(data.device->on_device({900}, others).data(), others.data());
}

TEST(EmulatedDevice, CopiesTakeAsLongAsTheLink) {
  DeviceWithData data(
      {.memory_bytes = 4096, .link = LinkSpec{.bytes_per_second = 1e8, .latency_ns = 50}});
  data.place(PlacementSite::host);
  EXPECT_EQ(data.clock.now_ns(), 1000);
  data.device->copy_to_device({3});
  EXPECT_EQ(data.clock.now_ns(), 1000 + 4000 + 50);
  data.device->copy_to_host({4});
  EXPECT_EQ(data.clock.now_ns(), 1000 + 2 * (4000 + 50));
}

TEST(EmulatedDevice, HasWholeUnits) {
  const SleptClock clock;
  EXPECT_EQ(EmulatedDevice::create({.memory_bytes = 1000}, clock).value()->device_memory_bytes(),
            768);
  const auto huge = EmulatedDevice::create({.memory_bytes = std::int64_t{1} << 60}, clock);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace hocket
