#include "core/cuda/streams/device_timeline.h"

#include <utility>

namespace hocket {
namespace {

/// Distance from which the origin is advanced. The CUDA runtime gives milliseconds as a float, so
/// at this distance a time is exact to 60 ns.
constexpr std::int64_t kFarNs = 1'000'000'000;

}  // namespace

Result<DeviceTimeline> DeviceTimeline::start(DeviceDriver& driver, DeviceEventPool& events,
                                             const Clock& clock, DeviceStream stream) {
  const auto origin = events.take();
  HOCKET_TRY(origin);
  auto ok = driver.record(*origin, stream);
  if (ok) ok = driver.synchronize(stream);
  if (!ok) {
    events.give_back(*origin);
    return failure(ok.error());
  }
  return DeviceTimeline(driver, events, *origin, clock.now_ns());
}

Result<std::int64_t> DeviceTimeline::time_of(DeviceEvent event) const {
  return driver_->elapsed_ns(origin_, event).map([this](std::int64_t elapsed_ns) {
    return origin_ns_ + elapsed_ns;
  });
}

void DeviceTimeline::give_back(DeviceEvent event, std::int64_t time_ns) {
  if (time_ns - origin_ns_ > kFarNs) {
    std::swap(event, origin_);
    origin_ns_ = time_ns;
  }
  events_->give_back(event);
}

}  // namespace hocket
