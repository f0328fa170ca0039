#pragma once

// Records what runs on one rank's GPU, by CUPTI's Activity API. Beside a profile session, which
// then says when:
//
//   auto device = CuptiSession::open({.clock = clock, .level = CuptiLevel::l1});
//   … give the device session to the executor as its TaskMarker …
//   ProfileSession session({.clock = clock, .device = device->get()});
//
// Or alone, told of each step:
//
//   device->start({.first_step = 100, .steps = 10});
//   for each step: device->on_step(step); … submit it …
//   … wait for the device …
//   if (auto profile = device->take()) …
//
// Where CUPTI cannot record, open() says why (profiler/cupti/probe.h), and the job goes on with
// neither marker nor device session: it is then profiled on the host alone. A session that has
// nothing to record costs a load for each task.
//
// A thread of the session reads the buffers that CUPTI fills, and makes CUPTI hand over those that
// are ready from time to time. Memory is bounded: the buffers are made once, and when CUPTI asks
// for more it drops records, which are counted.
//
// Spans follow one another, one at a time. All functions may be called from any thread, but none
// from within a callback of CUPTI.

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
  /// Records that a span keeps at most; more are dropped and counted.
  std::size_t capacity = 1 << 22;
  /// How often the session's thread asks CUPTI for what is ready and reads the clocks; 0: never.
  std::int64_t flush_period_ns = 100'000'000;
  /// When the session ends CUPTI leaves the process, with the next call of the CUDA runtime, so
  /// that nothing of its cost stays. Not for programs in which something else uses CUPTI.
  bool detach_at_end = false;
};

struct CuptiSpan {
  std::int64_t first_step = 0;
  std::int64_t steps = 10;
};

inline constexpr std::int64_t kMaxCuptiSteps = 1'000'000;

/// What a span has brought.
struct CuptiProfile {
  RankTrace trace;
  QuarantineCounts quarantined;
  std::int64_t ignored = 0, left_out = 0;       ///< as CuptiTrace's
  std::int64_t device_records = 0, marked = 0;  ///< as CuptiTrace's
  std::int64_t refused_buffers = 0;  ///< CUPTI asked for one at the cap, upon which it drops
  std::int64_t late_buffers = 0;     ///< came back while no span was under way; left out
  std::int64_t missing_buffers = 0;  ///< CUPTI has not given back: their records are not here
  std::int64_t clock_jumps = 0;      ///< how often the realtime clock was set
  std::string warning;               ///< what failed on the way; "" when nothing did
};

class CuptiSession final : public TaskMarker, public DeviceRecorder {
 public:
  /// Takes CUPTI for this process. unavailable, with the reason, when it cannot record; best before
  /// the first CUDA call. Without `api`: the library that is found.
  static Result<std::unique_ptr<CuptiSession>> open(std::shared_ptr<CuptiApi> api,
                                                    CuptiSessionOptions options);
  static Result<std::unique_ptr<CuptiSession>> open(CuptiSessionOptions options);
  /// Gives CUPTI back. Buffers that it still holds stay where they are.
  ~CuptiSession() override;

  /// invalid_argument when a span is under way or not taken, or the numbers are out of range.
  Result<void> start(const CuptiSpan& span);
  /// The host begins to submit `step`. Steps rise.
  void on_step(std::int64_t step);
  /// Ends the span; its last step is no window then. Harmless when there is none.
  void stop();

  /// Whether the span is over, so that take() has something.
  bool is_done() const;
  /// The profile, once; none while the span is under way. All work of the span must have ended on
  /// the device: what has not is missing. It takes as long as reading what CUPTI still holds.
  /// `tasks` says which of their steps' tasks were marked: of others only the step is known.
  std::optional<CuptiProfile> take(std::span<const NumberedTask> tasks = {});

  bool begin_task(std::int64_t step, TaskId task) override;
  void end_task() override;

  /// As a profile session's device: a span of its own, from the first resume() to add_to(). Nothing
  /// happens while one that was started is under way or not taken. What add_to() does is in
  /// profiler/cupti/device_records.h.
  void resume() override;
  void pause() override;
  void add_to(ProfileResult& result) override;

 private:
  class Recording;

  explicit CuptiSession(std::unique_ptr<Recording> recording);

  std::unique_ptr<Recording> recording_;
};

}  // namespace hocket
