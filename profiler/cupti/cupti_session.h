#pragma once

// Records one rank's GPU activity through CUPTI's Activity API. It runs beside a profile session,
// which controls when it records:
//
//   auto device = CuptiSession::open({.clock = clock, .level = CuptiLevel::l1});
//   … give the device session to the executor as its TaskMarker …
//   ProfileSession session({.clock = clock, .device = device->get()});
//
// It also runs alone, told of each step:
//
//   device->start({.first_step = 100, .steps = 10});
//   for each step: device->on_step(step); … submit it …
//   … wait for the device …
//   if (auto profile = device->take()) …
//
// If CUPTI cannot record, open() returns the reason (profiler/cupti/probe.h), and the job continues
// without marker and device session: it is then profiled on the host alone. A session with nothing
// to record costs one load for each task.
//
// A thread of the session reads the buffers that CUPTI fills, and periodically makes CUPTI hand
// over full ones. Memory is bounded: the buffers are allocated once, and when CUPTI finds none free
// it drops records, which are counted.
//
// One span is recorded at a time. All functions may be called from any thread, but not from within
// a callback of CUPTI.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "core/trace/task_marker.h"
#include "profiler/cupti/buffer_pool.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/level.h"
#include "profiler/cupti/timeline.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

struct CuptiSessionOptions {
  const Clock& clock;
  CuptiLevel level = CuptiLevel::l1;
  std::int64_t rank = 0, ranks = 1;
  std::string host = {};
  BufferPoolOptions buffers = {};
  /// Maximum records kept in a span; further ones are dropped and counted.
  std::size_t capacity = 1 << 22;
  /// Period in which the session's thread flushes CUPTI and reads the clocks; 0: never.
  std::int64_t flush_period_ns = 100'000'000;
  /// Removes CUPTI from the process when the session ends, at the next CUDA runtime call, so that
  /// no cost remains. Not for programs in which other code uses CUPTI.
  bool detach_at_end = false;
};

struct CuptiSpan {
  std::int64_t first_step = 0;
  std::int64_t steps = 10;
};

inline constexpr std::int64_t kMaxCuptiSteps = 1'000'000;

/// The recording of one span.
struct CuptiProfile {
  RankTrace trace;
  QuarantineCounts quarantined;
  std::int64_t ignored = 0, left_out = 0;       ///< as in CuptiTrace
  std::int64_t device_records = 0, marked = 0;  ///< as in CuptiTrace
  /// Requests refused because no buffer was free, after which CUPTI drops records.
  std::int64_t refused_buffers = 0;
  std::int64_t late_buffers = 0;  ///< buffers that came back outside a span; left out
  /// Buffers that CUPTI has not given back; their records are missing.
  std::int64_t missing_buffers = 0;
  std::int64_t clock_jumps = 0;  ///< times that the realtime clock was set
  std::string warning;           ///< errors during the span; "" without errors
};

class CuptiSession final : public TaskMarker, public DeviceRecorder {
 public:
  /// Takes CUPTI for this process, best before the first CUDA call. Returns unavailable, with the
  /// reason, if it cannot record. Without `api`, loads the library that it finds.
  static Result<std::unique_ptr<CuptiSession>> open(std::shared_ptr<CuptiApi> api,
                                                    CuptiSessionOptions options);
  static Result<std::unique_ptr<CuptiSession>> open(CuptiSessionOptions options);
  /// Gives CUPTI back. Buffers that CUPTI still holds remain allocated.
  ~CuptiSession() override;

  /// Starts a span. Returns invalid_argument if a span is active or not taken, or the numbers are
  /// out of range.
  Result<void> start(const CuptiSpan& span);
  /// Tells the session that the host begins to submit `step`. Steps rise.
  void on_step(std::int64_t step);
  /// Ends the span; its last step then has no window. Does nothing without a span.
  void stop();

  /// Returns whether the span is over and take() has a result.
  bool is_done() const;
  /// Returns the profile once; nothing while the span is active. Requires that all work of the span
  /// has ended on the device; unfinished work is missing. Blocks while it reads the buffers that
  /// CUPTI still holds. `tasks` numbers the marked tasks of the span's steps; for others only the
  /// step is known.
  std::optional<CuptiProfile> take(std::span<const NumberedTask> tasks = {});

  bool begin_task(std::int64_t step, TaskId task) override;
  void end_task() override;

  /// The interface for a profile session's device. Records a span of its own, from the first
  /// resume() to add_to(). Does nothing while a span from start() is active or not taken.
  /// profiler/cupti/device_records.h describes add_to().
  void resume() override;
  void pause() override;
  void add_to(ProfileResult& result) override;

 private:
  class Recording;

  explicit CuptiSession(std::unique_ptr<Recording> recording);

  std::unique_ptr<Recording> recording_;
};

}  // namespace hocket
