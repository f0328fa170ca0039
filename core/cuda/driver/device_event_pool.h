#pragma once

// Reuses events: a step needs as many as it has tasks, and creating an event costs more than
// recording it. Not thread-safe.

#include <vector>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

class DeviceEventPool {
 public:
  /// `driver` must outlive the pool.
  DeviceEventPool(DeviceDriver& driver, EventTiming timing) : driver_(driver), timing_(timing) {}
  /// Requires that all events have been given back.
  ~DeviceEventPool() {
    for (const DeviceEvent event : free_) driver_.destroy_event(event);
  }
  DeviceEventPool(const DeviceEventPool&) = delete;
  DeviceEventPool& operator=(const DeviceEventPool&) = delete;

  Result<DeviceEvent> take() {
    if (free_.empty()) return driver_.create_event(timing_);
    const DeviceEvent event = free_.back();
    free_.pop_back();
    return event;
  }
  /// Returns `event` to the pool. It may be recorded again while streams wait for it: they wait for
  /// the work it stood for when they began to.
  void give_back(DeviceEvent event) { free_.push_back(event); }

 private:
  DeviceDriver& driver_;
  const EventTiming timing_;
  std::vector<DeviceEvent> free_;
};

}  // namespace hocket
