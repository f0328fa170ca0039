#pragma once

// Records one rank's GPU activity through CUPTI's Activity API. It runs beside a profile session,
// which controls when it records:
//
//   auto device = CuptiSession::open({.clock = clock, .level = CuptiLevel::l1});
//   … give the device session to the executor as its TaskMarker …
//   ProfileSession session({.clock = clock, .device = device->get()});
//
// If CUPTI cannot record, open() returns the reason (profiler/cupti/probe.h), and the job continues
// without marker and device session: it is then profiled on the host alone. A session with nothing
// to record costs one load for each task.
//
// A thread of the session reads the buffers that CUPTI fills, and periodically makes CUPTI hand
// over full ones. Memory is bounded: the buffers are allocated once, and when CUPTI finds none free
// it drops records, which are counted.
//
// A span lasts from the first resume() to add_to(); one is recorded at a time. All functions may be
// called from any thread, but not from within a callback of CUPTI.

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/trace/task_marker.h"
#include "profiler/cupti/buffer_pool.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/level.h"
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
  /// Removes CUPTI from the process, at the next CUDA runtime call, whenever nothing is recorded
  /// any more, so that no cost remains: after add_to(), after a pause() of ten flush periods, and
  /// at the session's end. resume() then takes CUPTI again. Not for programs in which other code
  /// uses CUPTI.
  bool detaches = false;
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

  bool begin_task(std::int64_t step, TaskId task) override;
  void end_task() override;

  void resume() override;
  void pause() override;
  /// Requires that all work of the span has ended on the device; unfinished work is missing. Blocks
  /// while it reads the buffers that CUPTI still holds. profiler/cupti/device_records.h describes
  /// the result.
  void add_to(ProfileResult& result) override;

 private:
  class Recording;

  explicit CuptiSession(std::unique_ptr<Recording> recording);

  std::unique_ptr<Recording> recording_;
};

}  // namespace hocket
