#include "core/cuda/streams/device_timeline.h"

#include <gtest/gtest.h>

#include "tests/core/cuda/model_device.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

class DeviceTimelineTest : public testing::Test {
 protected:
  /// Returns an event that the device passes after `turns` other launches.
  DeviceEvent pass(std::int64_t turns) {
    for (; turns > 0; --turns) device_.launch(stream_, {}, {});
    const DeviceEvent event = events_.take().value();
    EXPECT_TRUE(device_.record(event, stream_));
    EXPECT_TRUE(device_.synchronize(stream_));
    return event;
  }

  SetClock clock_{5'000};
  ModelDevice device_;
  DeviceEventPool events_{device_, EventTiming::timed};
  DeviceStream stream_ = device_.create_stream(StreamPriority::normal).value();
  DeviceTimeline timeline_ = DeviceTimeline::start(device_, events_, clock_, stream_).value();
};

TEST_F(DeviceTimelineTest, CountsFromTheClocksTime) {
  const DeviceEvent event = pass(9);
  EXPECT_EQ(timeline_.time_of(event).value(), 5'000 + 10 * ModelDevice::kTurnNs);
}

TEST_F(DeviceTimelineTest, TimesGoOnWhenTheOriginMoves) {
  std::int64_t passed = 0;
  for (int i = 0; i < 4; ++i) {
    const DeviceEvent event = pass(400'000);
    passed += 400'001;
    const std::int64_t time_ns = timeline_.time_of(event).value();
    EXPECT_EQ(time_ns, 5'000 + passed * ModelDevice::kTurnNs);
    timeline_.give_back(event, time_ns);
  }
  // One event is the origin, and only one was in use at a time.
  EXPECT_EQ(device_.events_made(), 2);
}

}  // namespace
}  // namespace hocket
