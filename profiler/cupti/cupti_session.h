#pragma once

// Records what runs on one rank's GPU, by CUPTI's Activity API, beside a profile session, which
// says when:
//
//   auto device = CuptiSession::open({.clock = clock, .level = CuptiLevel::l1});
//   … give the device session to the executor as its TaskMarker …
//   ProfileSession session({.clock = clock, .device = device->get()});
//
// Where CUPTI cannot record, open() says why (profiler/cupti/probe.h), and the job goes on with
// neither marker nor device session: it is then profiled on the host alone. A session that has
// nothing to record costs a load for each task.
//
// A thread of the session reads the buffers that CUPTI fills, and makes CUPTI hand over those that
// are ready from time to time. Memory is bounded: the buffers are made once, and when CUPTI asks
// for more it drops records, which are counted.
//
// A span lasts from the first resume() to add_to(). Spans follow one another. All functions may be
// called from any thread, but none from within a callback of CUPTI.

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
  /// Records that a span keeps at most; more are dropped and counted.
  std::size_t capacity = 1 << 22;
  /// How often the session's thread asks CUPTI for what is ready and reads the clocks; 0: never.
  std::int64_t flush_period_ns = 100'000'000;
  /// When the session ends CUPTI leaves the process, with the next call of the CUDA runtime, so
  /// that nothing of its cost stays. Not for programs in which something else uses CUPTI.
  bool detach_at_end = false;
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

  bool begin_task(std::int64_t step, TaskId task) override;
  void end_task() override;

  void resume() override;
  void pause() override;
  /// Requires that all work of the span has ended on the device: what has not is missing. Takes as
  /// long as reading what CUPTI still holds. profiler/cupti/device_records.h says what it does.
  void add_to(ProfileResult& result) override;

 private:
  class Recording;

  explicit CuptiSession(std::unique_ptr<Recording> recording);

  std::unique_ptr<Recording> recording_;
};

}  // namespace hocket
