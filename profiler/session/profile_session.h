#pragma once

// Profiles some iterations of a job on one rank, while it trains. A session watches the scheduler
// from its first task on and costs next to nothing while it is off: a load a callback. When it is
// on, it keeps what runs in buffers of fixed size, which start() makes; take() turns them into a
// trace.
//
// Every rank makes one, and starts it at the same step:
//
//   ProfileSession session({.clock = …, .rank = 0});
//   Scheduler scheduler(config, executor, {.trace = &session, .observer = &session, …});
//   session.start({.first_step = 100, .steps = 10});
//   … train; stop() if the job ends before the span …
//   if (auto profile = session.take()) …
//
// What a device does is recorded beside, by ProfileSessionOptions::device. All that was handed to
// it must have ended there before take().
//
// The cost is measured in the same run: `interleave` makes blocks of steps in turn profiled and
// not, and ProfileResult::overhead compares the two.
//
// A session watches one scheduler at a time, and several one after the other. Steps are the
// scheduler's, and a new scheduler counts from 0 again: stop() a span before the next one starts. A
// span that has not reached its first step waits for that step of the next one. Two steps run at
// once, no more: what watches relies on it, as Scheduler and the simulator see to it.
//
// Thread-safe as PlanObserver and TraceSink ask for; start(), stop() and take() from any
// thread. Names of tasks must stay valid until take(), if a span saw them.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/plan/plan_observer.h"
#include "core/trace/rank_trace.h"
#include "core/trace/trace_sink.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

struct ProfileSessionOptions {
  const Clock& clock;
  std::int64_t rank = 0, ranks = 1;
  std::string host = {};
  std::string source = "host";  ///< as RankTrace's
  /// Records that a span keeps at most; more are dropped and counted.
  std::size_t capacity = 1 << 20;
  /// The host's realtime clock; empty: the machine's.
  std::function<std::int64_t()> realtime_ns = {};
  /// Records the device while something is kept, if not null, and adds that to what take() gives.
  /// Outlives the session.
  DeviceRecorder* device = nullptr;
};

struct ProfileSpan {
  std::int64_t first_step = 0;
  std::int64_t steps = 10;  ///< profiled ones
  /// Profiled steps in a row. After each block come as many that are not profiled, and a few
  /// between the two that are neither. 0: all are profiled, in one block.
  std::int64_t interleave = 0;
};

inline constexpr std::int64_t kMaxProfiledSteps = 1'000'000;

/// What profiling cost.
struct ProfileOverhead {
  double profiled_ns = 0, plain_ns = 0;  ///< medians of an iteration
  std::int64_t profiled = 0, plain = 0;  ///< how many
  double error_ns = 0;                   ///< standard error of profiled_ns − plain_ns
  double share() const { return plain_ns > 0 ? profiled_ns / plain_ns - 1 : 0; }
  /// share() is known to ± this, with 95 % confidence.
  double share_margin() const { return plain_ns > 0 ? 1.96 * error_ns / plain_ns : 0; }
};

/// What a session has, once it is done.
struct ProfileResult {
  RankTrace trace;
  StepStructure structure;
  std::optional<ProfileOverhead> overhead;  ///< with interleave
  std::vector<NumberedTask> tasks;          ///< of the records, as far as they are known
  std::vector<std::string> notes = {};      ///< what else is to be known of it, for people
};

class ProfileSession final : public PlanObserver, public TraceSink {
 public:
  explicit ProfileSession(ProfileSessionOptions options);
  ~ProfileSession() override;

  /// Before the span's first step is submitted: steps that were begun are left out.
  /// invalid_argument when a span is under way or not taken, or the numbers are out of range.
  Result<void> start(const ProfileSpan& span);

  /// Whether the span has ended, so that take() has something. It ends two steps after the last
  /// one of the span has begun, since a task of that step may have begun before the first that
  /// ends; or with stop().
  bool is_done() const;
  /// The profile, once; nothing while there is none. The job may go on meanwhile. Windows that
  /// miss something, because a buffer was full or the span was stopped, are left out, and so are
  /// records outside all windows.
  std::optional<ProfileResult> take();
  /// Ends the span with the steps that have ended; harmless when there is none.
  void stop();

  // PlanObserver and TraceSink, for the scheduler.
  void configured(const PlanOptions&) override {}
  void submitted(const SubmittedTask& task) override;
  void launched(const CapturedStep& step, TaskId first) override;
  void announced(std::span<const std::uint64_t>) override {}
  void ready(TaskId task) override;
  void started(TaskId) override {}
  void started_part(TaskId, std::int64_t, std::int64_t) override {}
  void finished(TaskId) override {}
  void finished_part(TaskId, std::int64_t) override {}
  void record(const TraceEvent& event) override;

 private:
  class Recorder;
  std::atomic<bool> on_ = false;  // a span is under way
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace hocket
