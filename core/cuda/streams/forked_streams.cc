#include "core/cuda/streams/forked_streams.h"

#include <string>

#include "core/base/check.h"

namespace hocket {

ForkedStreams::~ForkedStreams() {
  give_back_events();
  for (const DeviceStream stream : streams_) driver_.destroy_stream(stream);
}

Result<void> ForkedStreams::open() {
  const std::uint32_t count = StreamMapping(lanes_.streams, lanes_.channels).streams();
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool computes = i < static_cast<std::uint32_t>(lanes_.streams);
    const auto stream =
        driver_.create_stream(computes ? StreamPriority::normal : StreamPriority::urgent);
    if (!stream) return failure(stream.error().in("making stream " + std::to_string(i)));
    streams_.push_back(*stream);
  }
  return {};
}

Result<void> ForkedStreams::fork(DeviceStream origin) {
  give_back_events();
  mapping_.emplace(lanes_.streams, lanes_.channels);
  ends_.assign(streams_.size(), {});
  origin_ = origin;
  const auto forked = record(origin);
  HOCKET_TRY(forked);
  forked_ = *forked;
  return {};
}

Result<DeviceStream> ForkedStreams::begin(const StreamPlacement& placement, const DeviceWork*) {
  const std::uint32_t index = placement.position.stream;
  const DeviceStream stream = streams_[index];
  // The work that the first task of a stream waits for already runs after the fork.
  if (ends_[index].empty() && placement.waits.empty()) {
    HOCKET_TRY(driver_.wait(stream, forked_));
  }
  for (const StreamPosition& wait : placement.waits) {
    HOCKET_TRY(driver_.wait(stream, ends_[wait.stream].at(wait.number - 1)));
  }
  return stream;
}

Result<void> ForkedStreams::end(StreamPosition position, const DeviceWork*) {
  HOCKET_CHECK(position.number == ends_[position.stream].size() + 1,
               "positions are put into a stream in order");
  const auto event = record(streams_[position.stream]);
  HOCKET_TRY(event);
  ends_[position.stream].push_back(*event);
  return {};
}

Result<void> ForkedStreams::join() {
  for (const auto& ends : ends_) {
    if (ends.empty()) continue;
    if (auto ok = driver_.wait(origin_, ends.back()); !ok) return ok;
  }
  give_back_events();
  return {};
}

Result<DeviceEvent> ForkedStreams::record(DeviceStream stream) {
  const auto event = events_.take();
  if (!event) return event;
  taken_.push_back(*event);
  HOCKET_TRY(driver_.record(*event, stream));
  return event;
}

void ForkedStreams::give_back_events() {
  for (const DeviceEvent event : taken_) events_.give_back(event);
  taken_.clear();
}

}  // namespace hocket
