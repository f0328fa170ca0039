#pragma once

// A simulated device for tests. Streams are queues; the head of a stream runs when the test's
// random numbers select it and everything it waits for has run. Kernels declare the memory that
// they read and write, or report it when they have run. Regardless of the order in which they run,
// two accesses to the same bytes, at least one of them a write, must be ordered by streams, waits,
// or the host's observation that work has run. A missing wait is therefore detected even if it does
// no harm.
//
// A capture records each call, and every launch repeats the calls on streams of its own. As on a
// real device, memory of a captured step must be allocated and freed within it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/cuda/driver/device_driver.h"
#include "tests/core/cuda/model_memory.h"

namespace hocket {

class ModelDevice final : public DeviceDriver {
 public:
  /// Simulated time to run the head of a stream.
  static constexpr std::int64_t kTurnNs = 1000;

  explicit ModelDevice(std::uint64_t seed = 1) : random_(seed) {}

  /// Puts a kernel into `stream`; it begins when `may_begin` allows it.
  void launch(DeviceStream stream, const std::vector<Region>& regions, std::function<void()> effect,
              std::function<bool()> may_begin = {}) {
    std::lock_guard lock(mutex_);
    put_or_capture(stream_of(stream), [=, this](Stream& s, Marks&) {
      memory_.access(next_point(s), regions);
      s.entries.push_back({nullptr, nullptr, effect, may_begin});
      ++launched_;
    });
  }

  /// Does the same with a kernel that returns the memory that it has accessed. What is not memory
  /// of this device is ignored.
  void launch_recorded(DeviceStream stream, std::function<std::vector<Region>()> effect) {
    std::lock_guard lock(mutex_);
    put_or_capture(stream_of(stream), [=, this](Stream& s, Marks&) {
      s.entries.push_back({nullptr, nullptr, [=, this, point = next_point(s)] {
                             std::vector<Region> regions = effect();
                             std::erase_if(regions, [this](const Region& region) {
                               return !memory_.holds(region);
                             });
                             memory_.access(point, regions);
                           }});
      ++launched_;
    });
  }

  /// Runs everything to its end.
  void run_all() {
    std::lock_guard lock(mutex_);
    while (run_one()) {
    }
  }
  /// Prevents all work from running until release().
  void hold() { set_held(true); }
  void release() { set_held(false); }
  /// Makes the `number`-th call of wait(), from 0, do nothing.
  void forget_wait(std::int64_t number) {
    std::lock_guard lock(mutex_);
    forgotten_wait_ = number;
  }
  /// Leaves a launch error pending on the calling thread, as a kernel's launch that fails does.
  static void fail_launch(std::string words) { launch_error_of_this_thread_ = std::move(words); }
  /// Makes fallible calls fail from the `number`-th on, counted from 0 from now on.
  void fail_at(std::int64_t number) {
    std::lock_guard lock(mutex_);
    calls_until_failure_ = number;
  }

  /// Returns detected races, uses of freed memory, and waits for events that were never recorded.
  std::vector<std::string> problems() const { return locked(memory_.problems()); }
  std::int64_t waits() const { return locked(waits_); }
  /// Returns the number of waits for work that was already ordered before.
  std::int64_t idle_waits() const { return locked(idle_waits_); }
  std::int64_t questions() const { return locked(questions_); }
  std::int64_t launched() const { return locked(launched_); }
  std::int64_t graph_launches() const { return locked(graph_launches_); }
  /// Returns the number of graphs that were captured and not destroyed.
  std::int64_t graphs_alive() const { return locked(graphs_alive_); }
  std::int64_t events_made() const { return locked(events_made_); }
  std::int64_t records() const { return locked(records_); }
  std::int64_t times_asked() const { return locked(times_asked_); }
  std::size_t memory_in_use() const { return locked(memory_in_use_); }
  std::size_t most_memory_in_use() const { return locked(most_memory_in_use_); }
  std::vector<StreamPriority> priorities() const {
    std::lock_guard lock(mutex_);
    std::vector<StreamPriority> all;
    for (const auto& stream : streams_) all.push_back(stream->priority);
    return all;
  }

  Result<void> use_device() override {
    used_by_this_thread_ = this;
    return call();
  }
  Result<void> take_launch_error() override {
    const std::string words = std::exchange(launch_error_of_this_thread_, {});
    if (words.empty()) return {};
    return failure(ErrorCode::unavailable, words);
  }
  /// Returns the device of this thread.
  static ModelDevice& in_use() {
    HOCKET_CHECK(used_by_this_thread_, "the thread uses a device first");
    return *used_by_this_thread_;
  }

  Result<DeviceStream> create_stream(StreamPriority priority) override {
    HOCKET_TRY(call());
    std::lock_guard lock(mutex_);
    return DeviceStream{&add_stream(priority)};
  }
  void destroy_stream(DeviceStream) override {}
  Result<void> synchronize(DeviceStream stream) override {
    std::lock_guard lock(mutex_);
    while (!stream_of(stream).entries.empty()) HOCKET_CHECK(run_one(), "streams wait in a circle");
    join(host_clock_, stream_of(stream).clock);
    return {};
  }

  Result<DeviceEvent> create_event(EventTiming timing) override {
    HOCKET_TRY(call());
    std::lock_guard lock(mutex_);
    ++events_made_;
    events_.push_back(std::make_unique<Event>(Event{timing, nullptr}));
    return DeviceEvent{events_.back().get()};
  }
  void destroy_event(DeviceEvent) override {}
  Result<void> record(DeviceEvent event, DeviceStream stream) override {
    if (auto ok = call(); !ok) return ok;
    std::lock_guard lock(mutex_);
    ++records_;
    Stream& s = stream_of(stream);
    Event& e = event_of(event);
    e.capture = s.capture;
    if (s.capture) e.captured_mark = s.capture->clocks_of_marks.size();
    put_or_capture(s, [this, event, mark = e.captured_mark](Stream& to, Marks& marks) {
      join(to.clock, host_clock_);
      auto made = std::make_shared<Mark>(Mark{to.clock, false, 0});
      to.entries.push_back({nullptr, made});
      if (marks.empty()) {
        event_of(event).mark = std::move(made);
      } else {
        marks[mark] = std::move(made);
      }
    });
    if (s.capture) s.capture->clocks_of_marks.push_back(s.capture->clocks[s.captured_index]);
    return {};
  }
  Result<void> wait(DeviceStream stream, DeviceEvent event) override {
    if (auto ok = call(); !ok) return ok;
    std::lock_guard lock(mutex_);
    if (waits_++ == forgotten_wait_) return {};
    Stream& s = stream_of(stream);
    const Event& e = event_of(event);
    if (e.capture && !s.capture) join_capture(s, e.capture);
    if (e.capture != s.capture)
      return failure(ErrorCode::unavailable, "an event of another capture, or of none");
    if (!e.capture && !e.mark) {
      memory_.add_problem("a stream waits for an event that was never recorded");
      return {};
    }
    if (s.capture)
      join(s.capture->clocks[s.captured_index], s.capture->clocks_of_marks[e.captured_mark]);
    put_or_capture(s, [this, known = e.mark, mark = e.captured_mark](Stream& to, Marks& marks) {
      const std::shared_ptr<Mark> awaited = marks.empty() ? known : marks[mark];
      join(to.clock, host_clock_);
      if (comes_before(awaited->clock, to.clock)) ++idle_waits_;
      join(to.clock, awaited->clock);
      to.entries.push_back({awaited, nullptr});
    });
    return {};
  }
  Result<bool> has_run(DeviceEvent event) override {
    HOCKET_TRY(call());
    std::lock_guard lock(mutex_);
    ++questions_;
    if (event_of(event).capture) return failure(ErrorCode::unavailable, "the event is captured");
    for (auto turns = random_() % 4; turns > 0 && !held_ && run_one(); --turns) {
    }
    const Mark& mark = *event_of(event).mark;
    if (mark.has_run) join(host_clock_, mark.clock);
    return mark.has_run;
  }

  Result<std::int64_t> elapsed_ns(DeviceEvent begin, DeviceEvent end) override {
    HOCKET_TRY(call());
    std::lock_guard lock(mutex_);
    ++times_asked_;
    for (const DeviceEvent event : {begin, end}) {
      HOCKET_CHECK(event_of(event).timing == EventTiming::timed, "the event has no time");
      HOCKET_CHECK(event_of(event).mark && event_of(event).mark->has_run, "it has not run");
    }
    return event_of(end).mark->time_ns - event_of(begin).mark->time_ns;
  }

  Result<void*> allocate(std::size_t bytes, DeviceStream stream) override {
    HOCKET_TRY(call());
    std::lock_guard lock(mutex_);
    ModelMemory::Block* const block = &memory_.add(bytes);
    block->capture = stream_of(stream).capture.get();
    if (block->capture) ++stream_of(stream).capture->allocated;
    put_or_capture(stream_of(stream), [this, block](Stream& s, Marks&) {
      memory_.allocate(*block, next_point(s));
      memory_in_use_ += block->bytes;
      most_memory_in_use_ = std::max(most_memory_in_use_, memory_in_use_);
    });
    return block->memory.get();
  }
  Result<void> free(void* memory, DeviceStream stream) override {
    if (auto ok = call(); !ok) return ok;
    std::lock_guard lock(mutex_);
    ModelMemory::Block* const block = memory_.find(memory);
    HOCKET_CHECK(block, "freed what was never allocated, or twice");
    const std::shared_ptr<Graph>& capture = stream_of(stream).capture;
    if (block->capture != capture.get())
      return failure(ErrorCode::unavailable, "memory of another capture, or of none");
    if (capture) --capture->allocated;
    put_or_capture(stream_of(stream), [this, block](Stream& s, Marks&) {
      memory_.free(*block, next_point(s));
      memory_in_use_ -= block->bytes;
    });
    return {};
  }

  Result<void*> allocate_host(std::size_t bytes) override {
    HOCKET_TRY(call());
    std::lock_guard lock(mutex_);
    return memory_.add(bytes).memory.get();
  }
  void free_host(void*) override {}
  Result<void> copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) override {
    if (auto ok = call(); !ok) return ok;
    launch(stream, {{from, bytes, false}, {to, bytes, true}},
           [=] { std::memcpy(to, from, bytes); });
    return {};
  }
  Result<void> fill_zero(void* memory, std::size_t bytes, DeviceStream stream) override {
    if (auto ok = call(); !ok) return ok;
    launch(stream, {{memory, bytes, true}}, [=] { std::memset(memory, 0, bytes); });
    return {};
  }
  /// The function reports the memory that it accesses by touch().
  Result<void> run_on_host(DeviceStream stream, void (*function)(void*), void* argument) override {
    if (auto ok = call(); !ok) return ok;
    launch_recorded(stream, [=] {
      std::vector<Region> touched;
      touched_by_function_ = &touched;
      function(argument);
      touched_by_function_ = nullptr;
      return touched;
    });
    return {};
  }
  /// Call it in a function that the device runs on the host, for memory that it accesses.
  static void touch(const Region& region) {
    if (touched_by_function_) touched_by_function_->push_back(region);
  }
  Result<std::string> bus_id() override {
    return call().map([] { return std::string("0000:17:00.0"); });
  }
  Result<std::int64_t> memory_bytes() override { return std::int64_t{1} << 32; }

  Result<void> begin_capture(DeviceStream stream) override {
    if (auto ok = call(); !ok) return ok;
    std::lock_guard lock(mutex_);
    HOCKET_CHECK(!stream_of(stream).capture, "the stream is being captured already");
    join_capture(stream_of(stream), std::make_shared<Graph>());
    return {};
  }
  Result<DeviceGraph> end_capture(DeviceStream stream) override {
    const auto called = call();
    std::lock_guard lock(mutex_);
    const std::shared_ptr<Graph> graph = stream_of(stream).capture;
    HOCKET_CHECK(graph && graph->streams.front() == &stream_of(stream),
                 "a capture ends where it began");
    for (Stream* captured : graph->streams) captured->capture = nullptr;
    HOCKET_TRY(called);
    for (std::size_t i = 0; i < graph->streams.size(); ++i)
      if (graph->clocks[0][i] < graph->clocks[i][i])
        return failure(ErrorCode::unavailable, "a captured stream was not waited for");
    if (graph->allocated > 0)
      return failure(ErrorCode::unavailable, "captured memory is not freed in its capture");
    graphs_.push_back(graph);
    ++graphs_alive_;
    return DeviceGraph{graph.get()};
  }
  Result<void> launch(DeviceGraph graph, DeviceStream stream) override {
    if (auto ok = call(); !ok) return ok;
    std::lock_guard lock(mutex_);
    ++graph_launches_;
    const Graph& launched = *static_cast<const Graph*>(graph.handle);
    std::vector<Stream*> streams{&stream_of(stream)};
    while (streams.size() < launched.streams.size()) streams.push_back(&add_stream({}));
    Marks marks(launched.clocks_of_marks.size() + 1);  // never empty: an empty list means no graph
    for (const auto& [index, put] : launched.calls) put(*streams[index], marks);
    return {};
  }
  void destroy_graph(DeviceGraph) override {
    std::lock_guard lock(mutex_);
    --graphs_alive_;
  }

 private:
  struct Mark {
    ModelClock clock;
    bool has_run = false;
    std::int64_t time_ns = 0;
  };
  using Marks = std::vector<std::shared_ptr<Mark>>;
  struct Stream;
  struct Graph {
    std::vector<Stream*> streams;  // captured streams; capture began on the first
    /// Calls with the index of their stream; a launch repeats them with the graph's marks so far.
    std::vector<std::pair<std::size_t, std::function<void(Stream&, Marks&)>>> calls;
    std::vector<ModelClock> clocks;           // by stream: number of calls that come before
    std::vector<ModelClock> clocks_of_marks;  // clocks of the recorded events
    int allocated = 0;                        // allocations not yet freed
  };
  struct Event {
    EventTiming timing = EventTiming::none;
    std::shared_ptr<Mark> mark;
    std::shared_ptr<Graph> capture = nullptr;  // capture in which it was recorded
    std::size_t captured_mark = 0;
  };
  /// One of: a wait, the mark of an event, a kernel.
  struct Entry {
    std::shared_ptr<Mark> waits_for, marks;
    std::function<void()> effect = {};
    std::function<bool()> may_begin = {};
  };
  struct Stream {
    std::size_t index = 0;
    StreamPriority priority = StreamPriority::normal;
    ModelClock clock;
    std::deque<Entry> entries;
    std::shared_ptr<Graph> capture = nullptr;
    std::size_t captured_index = 0;  // index of the stream in the capture
  };

  static Stream& stream_of(DeviceStream stream) { return *static_cast<Stream*>(stream.handle); }
  static Event& event_of(DeviceEvent event) { return *static_cast<Event*>(event.handle); }
  static void join(ModelClock& clock, const ModelClock& other) {
    if (clock.size() < other.size()) clock.resize(other.size());
    for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  }
  static bool comes_before(const ModelClock& a, const ModelClock& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] > (i < b.size() ? b[i] : 0)) return false;
    return true;
  }

  Stream& add_stream(StreamPriority priority) {
    auto stream = std::make_unique<Stream>();
    stream->index = streams_.size();
    stream->priority = priority;
    streams_.push_back(std::move(stream));
    return *streams_.back();
  }
  static void join_capture(Stream& stream, const std::shared_ptr<Graph>& graph) {
    stream.capture = graph;
    stream.captured_index = graph->streams.size();
    graph->streams.push_back(&stream);
    for (ModelClock& clock : graph->clocks) clock.resize(graph->streams.size());
    graph->clocks.emplace_back(graph->streams.size());
  }
  /// Makes the call now, or records it if `stream` is captured. `put(stream, marks)`; there are no
  /// marks outside a graph.
  template <class Put>
  void put_or_capture(Stream& stream, Put put) {
    if (stream.capture) {
      ++stream.capture->clocks[stream.captured_index][stream.captured_index];
      stream.capture->calls.emplace_back(stream.captured_index, std::move(put));
      return;
    }
    Marks none;
    put(stream, none);
  }

  template <class T>
  T locked(const T& value) const {
    std::lock_guard lock(mutex_);
    return value;
  }
  void set_held(bool held) {
    std::lock_guard lock(mutex_);
    held_ = held;
  }
  Result<void> call() {
    std::lock_guard lock(mutex_);
    if (calls_until_failure_ > 0) --calls_until_failure_;
    if (calls_until_failure_ != 0) return {};
    return failure(ErrorCode::unavailable, "the model device has failed");
  }

  /// Returns the place of a kernel that enters `stream` now.
  ModelPoint next_point(Stream& stream) {
    join(stream.clock, host_clock_);
    if (stream.clock.size() <= stream.index) stream.clock.resize(stream.index + 1);
    auto clock = std::make_shared<const ModelClock>(stream.clock);
    return {stream.index, ++stream.clock[stream.index], turns_ += 2, std::move(clock)};
  }

  /// Runs the head of a random stream; returns false if all are empty or waiting.
  bool run_one() {
    std::vector<Stream*> can_run;
    for (const auto& stream : streams_) {
      if (stream->entries.empty()) continue;
      const Entry& head = stream->entries.front();
      if (head.waits_for && !head.waits_for->has_run) continue;
      if (!head.may_begin || head.may_begin()) can_run.push_back(stream.get());
    }
    if (can_run.empty()) return false;
    Stream& stream = *can_run[random_() % can_run.size()];
    const Entry entry = std::move(stream.entries.front());
    stream.entries.pop_front();
    time_ns_ += kTurnNs;
    if (entry.marks) {
      entry.marks->has_run = true;
      entry.marks->time_ns = time_ns_;
    }
    if (entry.effect) entry.effect();
    return true;
  }

  static inline thread_local ModelDevice* used_by_this_thread_ = nullptr;
  static inline thread_local std::string launch_error_of_this_thread_;
  static inline thread_local std::vector<Region>* touched_by_function_ = nullptr;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
  ModelMemory memory_;
  std::vector<std::shared_ptr<Graph>> graphs_;
  std::uint64_t turns_ = 0;
  ModelClock host_clock_;
  bool held_ = false;
  std::int64_t time_ns_ = 0;
  std::int64_t forgotten_wait_ = -1;
  std::int64_t calls_until_failure_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t waits_ = 0, idle_waits_ = 0, questions_ = 0, launched_ = 0, events_made_ = 0;
  std::int64_t records_ = 0, times_asked_ = 0;
  std::int64_t graph_launches_ = 0, graphs_alive_ = 0;
  std::size_t memory_in_use_ = 0, most_memory_in_use_ = 0;
};

}  // namespace hocket
