#include "plugins/nccl/communicator/current_device.h"

#include <gtest/gtest.h>

#include "plugins/nccl/communicator/plugin_cost.h"

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

TEST(PluginCost, SaysWhatDecisionsGatesAndEventsTook) {
  PluginCost cost;
  EXPECT_EQ(cost.line(10, 0, 0, 1'000'000'000), "") << "nothing was timed";
  cost.add_decision(40);
  cost.add_decision(60);
  cost.set_events(true, 2'000'000'000);
  cost.set_events(true, 3'000'000'000);
  cost.set_events(false, 4'000'000'000);
  cost.set_events(true, 19'000'000'000);
  EXPECT_EQ(cost.line(128, 2'500'000, 0, 20'000'000'000),
            "the plugin's cost: 128 decisions of 50 ns, 2.5 ms of waiting at changes, collectives "
            "timed in 15.0 % of 20 s");
}

}  // namespace
}  // namespace hocket::nccl
