#include "plugins/nccl/communicator/current_device.h"

#include <gtest/gtest.h>

namespace hocket::nccl {
namespace {

DriverFunctions driver() {
  return {.device_of_context =
              [](int* device) {
                *device = 3;
                return 0;
              },
          .uuid_of_device =
              [](DeviceId* uuid, int device) {
                (*uuid)[5] = static_cast<unsigned char>(device);
                return 0;
              }};
}

TEST(CurrentDevice, IsTheUuidOfTheCurrentContextsDevice) {
  DeviceId expected = {};
  expected[5] = 3;
  EXPECT_EQ(current_device(driver()), expected);
}

TEST(CurrentDevice, IsNotKnownWithoutADriverAContextOrAUuid) {
  EXPECT_EQ(current_device({}), std::nullopt);
  DriverFunctions old = driver(), outside = driver(), failing = driver(), nameless = driver();
  old.uuid_of_device = nullptr;
  outside.device_of_context = [](int*) { return 201; };
  failing.uuid_of_device = [](DeviceId*, int) { return 101; };
  nameless.uuid_of_device = [](DeviceId*, int) { return 0; };
  for (const DriverFunctions& each : {old, outside, failing, nameless})
    EXPECT_EQ(current_device(each), std::nullopt);
}

}  // namespace
}  // namespace hocket::nccl
