#pragma once

// When things ran on a device, in the time of the host's clock. The device tells only how far apart
// two events are, and less exactly the further: so times are counted from an event that is moved on
// now and then. Not thread-safe.

#include <cstdint>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/driver/device_event_pool.h"

namespace hocket {

class DeviceTimeline {
 public:
  /// Records an event of `events`, which are timed, in `stream`, and waits for it. All must outlive
  /// the timeline.
  static Result<DeviceTimeline> start(DeviceDriver& driver, DeviceEventPool& events,
                                      const Clock& clock, DeviceStream stream);

  /// When `event` was passed, which has run. An error of the device.
  Result<std::int64_t> time_of(DeviceEvent event) const;

  /// Gives `event` back to the pool, whose time_of() is `time_ns`, or keeps it in place of the one
  /// that times are counted from.
  void give_back(DeviceEvent event, std::int64_t time_ns);
  /// Gives back the event that times are counted from; the timeline is over.
  void end() { events_->give_back(origin_); }

 private:
  DeviceTimeline(DeviceDriver& driver, DeviceEventPool& events, DeviceEvent origin,
                 std::int64_t origin_ns)
      : driver_(&driver), events_(&events), origin_(origin), origin_ns_(origin_ns) {}

  DeviceDriver* driver_;
  DeviceEventPool* events_;
  DeviceEvent origin_;
  std::int64_t origin_ns_;
};

}  // namespace hocket
