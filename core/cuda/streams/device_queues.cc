#include "core/cuda/streams/device_queues.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/trace/task_marker.h"

namespace hocket {

DeviceQueues::DeviceQueues(DeviceDriver& driver, const LaneCounts& lanes, TraceSink* trace,
                           const Clock& clock, LaneBoard* board)
    : driver_(driver),
      mapping_(lanes.streams, lanes.channels, lanes.is_placed),
      trace_(trace),
      clock_(clock),
      board_(board),
      untimed_(driver, EventTiming::none),
      timed_(driver, EventTiming::timed) {}

Result<std::unique_ptr<DeviceQueues>> DeviceQueues::open(DeviceDriver& driver,
                                                         const LaneCounts& lanes, TraceSink* trace,
                                                         const Clock& clock, LaneBoard* board) {
  std::unique_ptr<DeviceQueues> queues(new DeviceQueues(driver, lanes, trace, clock, board));
  for (std::uint32_t i = 0; i < queues->mapping_.streams(); ++i) {
    const bool computes = i < queues->mapping_.compute_streams();
    const auto stream =
        driver.create_stream(computes ? StreamPriority::normal : StreamPriority::urgent);
    if (!stream) return failure(stream.error().in("making stream " + std::to_string(i)));
    queues->queues_.emplace_back().stream = *stream;
  }
  if (!trace) return queues;
  auto timeline =
      DeviceTimeline::start(driver, queues->timed_, clock, queues->queues_.front().stream);
  if (!timeline) return failure(timeline.error().in("timing the device"));
  queues->timeline_ = *timeline;
  return queues;
}

DeviceQueues::~DeviceQueues() {
  for (Queue& queue : queues_) {
    if (queue.begun.handle) timed_.give_back(queue.begun);
    for (std::size_t i = 0; i < queue.entries.size(); ++i) {
      const Entry& entry = queue.entries[i];
      if (entry.begin.handle) timed_.give_back(entry.begin);
      ends_of(entry.timing).give_back(entry.end);
    }
    driver_.destroy_stream(queue.stream);
  }
  if (timeline_) timeline_->end();
}

void DeviceQueues::decide_timing(const DeviceWork* work, Queue& queue) {
  queue.timing = Timing::none;
  queue.is_told = false;
  if (!trace_ || !work) return;
  const TraceEvent& traced = work->traced;
  const bool begins_step = traced.step > newest_step_;
  if (begins_step) newest_step_ = traced.step;
  const TraceDetail detail = trace_->detail(traced.step);
  const bool is_of_a_stream = traced.kind == TraceKind::compute &&
                              traced.lane < static_cast<int>(mapping_.compute_streams());
  queue.is_told = detail == TraceDetail::order && is_of_a_stream && traced.task != kWholeStep;
  const bool is_timed = traced.task == kWholeStep || detail == TraceDetail::tasks ||
                        (detail == TraceDetail::order && !is_of_a_stream);
  queue.timing = is_timed ? Timing::task : begins_step ? Timing::step : Timing::none;
}

Result<DeviceStream> DeviceQueues::begin(const StreamPlacement& placement, const DeviceWork* work) {
  Queue& queue = queues_[placement.position.stream];
  for (const StreamPosition& wait : placement.waits) {
    const Queue& before = queues_[wait.stream];
    HOCKET_CHECK(wait.number >= before.first_number &&
                     wait.number - before.first_number < before.entries.size(),
                 "a wait for what has run, or was not put into its stream");
    const Entry& entry = before.entries[wait.number - before.first_number];
    HOCKET_TRY(driver_.wait(queue.stream, entry.end));
  }
  if (board_ && work && queue.entries.size() == 0) show(queue, work->traced, work->peer_rank);
  decide_timing(work, queue);
  if (queue.timing != Timing::none) {
    const auto begun = record(timed_, queue.stream);
    HOCKET_TRY(begun);
    queue.begun = *begun;
  }
  return queue.stream;
}

Result<DeviceEvent> DeviceQueues::record(DeviceEventPool& events, DeviceStream stream) {
  const auto event = events.take();
  if (!event) return event;
  if (auto ok = driver_.record(*event, stream); !ok) {
    events.give_back(*event);
    return failure(ok.error());
  }
  return event;
}

Result<void> DeviceQueues::end(StreamPosition position, const DeviceWork* work) {
  Queue& queue = queues_[position.stream];
  HOCKET_CHECK(position.number == queue.first_number + queue.entries.size(),
               "positions are put into a stream in order");
  const auto event = record(ends_of(queue.timing), queue.stream);
  HOCKET_TRY(event);
  Entry& entry = queue.entries.add();
  entry.end = *event;
  entry.begin = std::exchange(queue.begun, {});
  entry.timing = std::exchange(queue.timing, Timing::none);
  entry.is_told = std::exchange(queue.is_told, false);
  entry.has_work = work != nullptr;
  if (work) entry.completed = work->completed();
  if (entry.timing != Timing::none || entry.is_told || (board_ && work)) {
    entry.traced = work->traced;
    entry.peer_rank = work->peer_rank;
  }
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
  if (entry.is_told) {
    TraceEvent told = entry.traced;
    told.begin_ns = told.end_ns = clock_.now_ns();
    trace_->record(told);
  }
  if (entry.timing == Timing::none) {
    untimed_.give_back(entry.end);
    return {};
  }
  const auto begin_ns = timeline_->time_of(entry.begin);
  HOCKET_TRY(begin_ns);
  TraceEvent traced = entry.traced;
  traced.begin_ns = traced.end_ns = *begin_ns;
  if (entry.timing == Timing::task) {
    const auto end_ns = timeline_->time_of(entry.end);
    HOCKET_TRY(end_ns);
    traced.end_ns = *end_ns;
  } else {
    traced = {TraceKind::compute, traced.lane, "step", traced.step,
              *begin_ns,          *begin_ns,   0,      kWholeStep};
  }
  trace_->record(traced);
  timeline_->give_back(entry.begin, traced.begin_ns);
  if (entry.timing == Timing::task) {
    timeline_->give_back(entry.end, traced.end_ns);
  } else {
    untimed_.give_back(entry.end);
  }
  return {};
}

void DeviceQueues::show(Queue& queue, const TraceEvent& work, std::int32_t peer_rank) {
  board_->begin(work, peer_rank);
  queue.is_shown = true;
  queue.shown_kind = work.kind;
  queue.shown_lane = work.lane;
}

void DeviceQueues::show_first(Queue& queue) {
  if (queue.entries.size() > 0 && queue.entries[0].has_work)
    return show(queue, queue.entries[0].traced, queue.entries[0].peer_rank);
  if (std::exchange(queue.is_shown, false)) board_->end(queue.shown_kind, queue.shown_lane);
}

Result<void> DeviceQueues::poll(std::vector<CompletedWork>& completed) {
  for (std::uint32_t stream = 0; stream < queues_.size(); ++stream) {
    Queue& queue = queues_[stream];
    const auto run = count_run(queue);
    HOCKET_TRY(run);
    if (*run == 0) continue;
    for (std::size_t i = 0; i < *run; ++i) {
      const Entry& entry = queue.entries[i];
      if (entry.has_work) completed.push_back(entry.completed);
      if (auto ok = put_away(entry); !ok) {
        queue.entries.drop_first(i);  // the entries before have given back their events
        return ok;
      }
    }
    queue.entries.drop_first(*run);
    queue.first_number += *run;
    in_flight_ -= *run;
    if (board_) show_first(queue);
    mapping_.completed({stream, queue.first_number - 1});
  }
  return {};
}

}  // namespace hocket
