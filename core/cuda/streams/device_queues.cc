#include "core/cuda/streams/device_queues.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace hocket {

DeviceQueues::DeviceQueues(DeviceDriver& driver, const Lanes& lanes, TraceSink* trace)
    : driver_(driver),
      mapping_(lanes.streams, lanes.channels),
      trace_(trace),
      events_(driver, trace ? EventTiming::timed : EventTiming::none) {}

Result<std::unique_ptr<DeviceQueues>> DeviceQueues::open(DeviceDriver& driver, const Lanes& lanes,
                                                         TraceSink* trace, const Clock& clock) {
  std::unique_ptr<DeviceQueues> queues(new DeviceQueues(driver, lanes, trace));
  for (std::uint32_t i = 0; i < queues->mapping_.streams(); ++i) {
    const bool computes = i < queues->mapping_.compute_streams();
    const auto stream =
        driver.create_stream(computes ? StreamPriority::normal : StreamPriority::urgent);
    if (!stream) return failure(stream.error().in("making stream " + std::to_string(i)));
    queues->queues_.push_back({*stream, {}, 1, {}});
  }
  if (!trace) return queues;
  auto timeline =
      DeviceTimeline::start(driver, queues->events_, clock, queues->queues_.front().stream);
  if (!timeline) return failure(timeline.error().in("timing the device"));
  queues->timeline_ = *timeline;
  return queues;
}

DeviceQueues::~DeviceQueues() {
  const auto give_back = [this](DeviceEvent event) {
    if (event.handle) events_.give_back(event);
  };
  for (Queue& queue : queues_) {
    give_back(queue.begun);
    for (const Entry& entry : queue.entries) {
      give_back(entry.begin);
      give_back(entry.end);
    }
    driver_.destroy_stream(queue.stream);
  }
  if (timeline_) timeline_->end();
}

Result<DeviceStream> DeviceQueues::begin(const StreamPlacement& placement) {
  Queue& queue = queues_[placement.position.stream];
  for (const StreamPosition& wait : placement.waits) {
    const Queue& before = queues_[wait.stream];
    HOCKET_CHECK(wait.number >= before.first_number &&
                     wait.number - before.first_number < before.entries.size(),
                 "a wait for what has run, or was not put into its stream");
    const Entry& entry = before.entries[wait.number - before.first_number];
    HOCKET_TRY(driver_.wait(queue.stream, entry.end));
  }
  if (trace_) {
    const auto begun = record(queue.stream);
    HOCKET_TRY(begun);
    queue.begun = *begun;
  }
  return queue.stream;
}

Result<DeviceEvent> DeviceQueues::record(DeviceStream stream) {
  const auto event = events_.take();
  if (!event) return event;
  if (auto ok = driver_.record(*event, stream); !ok) {
    events_.give_back(*event);
    return failure(ok.error());
  }
  return event;
}

Result<void> DeviceQueues::end(StreamPosition position, const std::optional<DeviceWork>& work) {
  Queue& queue = queues_[position.stream];
  HOCKET_CHECK(position.number == queue.first_number + queue.entries.size(),
               "positions are put into a stream in order");
  const auto event = record(queue.stream);
  HOCKET_TRY(event);
  queue.entries.push_back({*event, std::exchange(queue.begun, {}), work});
  ++in_flight_;
  return {};
}

Result<std::size_t> DeviceQueues::count_run(const Queue& queue) {
  std::size_t run = 0, left = queue.entries.size();
  // The first entry is queried alone: usually nothing has run since the last poll.
  for (std::size_t ahead = 0; left > 0; ahead = left / 2) {
    const auto has_run = driver_.has_run(queue.entries[run + ahead].end);
    HOCKET_TRY(has_run);
    if (*has_run) {
      run += ahead + 1;
      left -= ahead + 1;
    } else {
      left = ahead;
    }
  }
  return run;
}

Result<void> DeviceQueues::put_away(const Entry& entry) {
  if (!timeline_) {
    events_.give_back(entry.end);
    return {};
  }
  const auto begin_ns = timeline_->time_of(entry.begin), end_ns = timeline_->time_of(entry.end);
  HOCKET_TRY(begin_ns);
  HOCKET_TRY(end_ns);
  if (entry.work) {
    TraceEvent traced = entry.work->traced;
    traced.begin_ns = *begin_ns;
    traced.end_ns = *end_ns;
    trace_->record(traced);
  }
  timeline_->give_back(entry.begin, *begin_ns);
  timeline_->give_back(entry.end, *end_ns);
  return {};
}

Result<void> DeviceQueues::poll(std::vector<CompletedWork>& completed) {
  for (std::uint32_t stream = 0; stream < queues_.size(); ++stream) {
    Queue& queue = queues_[stream];
    const auto run = count_run(queue);
    HOCKET_TRY(run);
    if (*run == 0) continue;
    const auto end = queue.entries.begin() + static_cast<std::ptrdiff_t>(*run);
    for (auto entry = queue.entries.begin(); entry != end; ++entry) {
      if (entry->work) completed.push_back(entry->work->completed);
      if (auto ok = put_away(*entry); !ok) return ok;
    }
    queue.entries.erase(queue.entries.begin(), end);
    queue.first_number += *run;
    in_flight_ -= *run;
    mapping_.completed({stream, queue.first_number - 1});
  }
  return {};
}

}  // namespace hocket
