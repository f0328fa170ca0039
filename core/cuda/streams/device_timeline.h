#pragma once

// Converts the times of device events to the host's clock. The device reports only the time between
// two events, and less exactly the further apart they are. So times are measured from an origin
// event, which is advanced regularly. Not thread-safe.

#include <cstdint>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/driver/device_event_pool.h"

namespace hocket {

class DeviceTimeline {
 public:
  /// Takes an event from `events`, which must be timed, records it in `stream` as the origin and
  /// waits for it. All arguments must outlive the timeline.
  static Result<DeviceTimeline> start(DeviceDriver& driver, DeviceEventPool& events,
                                      const Clock& clock, DeviceStream stream);

  /// Returns the time of `event`, which must have run, on the host's clock. Reports errors of the
  /// device.
  Result<std::int64_t> time_of(DeviceEvent event) const;

  /// Returns `event`, whose time_of() is `time_ns`, to the pool; or keeps it as the new origin and
  /// returns the old one.
  void give_back(DeviceEvent event, std::int64_t time_ns);
  /// Returns the origin to the pool. The timeline must not be used afterwards.
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
