#pragma once

// Profiles some iterations of a job on one rank while it trains. A session watches the scheduler
// from its first task on; while it is off, each callback costs one load. While it is on, it records
// into buffers of fixed size, which start() allocates; take() makes a trace of them.
//
// Every rank makes one and starts it at the same step:
//
//   ProfileSession session({.clock = …, .rank = 0});
//   Scheduler scheduler(config, executor, {.trace = &session, .observer = &session, …});
//   session.start({.first_step = 100, .steps = 10});
//   … train; stop() if the job ends before the span …
//   if (auto profile = session.take()) …
//
// ProfileSessionOptions::device records the device beside it. All work handed to the device must
// have ended there before take().
//
// The same run measures the cost: with `interleave`, blocks of steps are profiled and not profiled
// in turn, and ProfileResult::overhead compares the two.
//
// A session watches one scheduler at a time, and may watch several one after the other. Step
// numbers are the scheduler's, and a new scheduler counts from 0 again: stop() a span before the
// next scheduler starts. A span that has not reached its first step waits for that step of the next
// scheduler. At most two steps run at once; the session relies on this, and Scheduler and the
// simulator ensure it.
//
// Callbacks are thread-safe as PlanObserver and TraceSink require; start(), stop() and take() may
// be called from any thread. Names of tasks in a span must stay valid until take().

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
#include "core/step/mesh.h"
#include "core/trace/rank_trace.h"
#include "core/trace/trace_sink.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/session/device_recorder.h"
#include "profiler/session/host_use.h"

namespace hocket {

struct ProfileSessionOptions {
  const Clock& clock;
  std::int64_t rank = 0, ranks = 1;
  /// The mesh of the ranks, which tells who is in which group. Where it is absent or not of
  /// `ranks`, the kind of communications among some of the ranks is left out, since it is not known
  /// who took part.
  std::optional<Mesh> mesh = {};
  std::int64_t servers = 0;  ///< parameter servers of the job
  std::string host = {};
  std::string source = "host";  ///< as in RankTrace
  /// Maximum records kept in a span; further ones are dropped and counted.
  std::size_t capacity = 1 << 20;
  /// The host's realtime clock; the system's clock if empty.
  std::function<std::int64_t()> realtime_ns = {};
  /// Reads how the process and its host use the processors; read_host_use() if empty.
  std::function<std::optional<HostUse>()> host_use = {};
  /// Optional recorder of the device, active while the session records; its records are added to
  /// the result of take(). Must outlive the session.
  DeviceRecorder* device = nullptr;
};

struct ProfileSpan {
  std::int64_t first_step = 0;
  std::int64_t steps = 10;  ///< number of profiled steps
  /// Profiled steps in a row. As many steps that are not profiled follow each block, with a few
  /// steps in between that belong to neither. 0: all steps are profiled, in one block.
  std::int64_t interleave = 0;
};

inline constexpr std::int64_t kMaxProfiledSteps = 1'000'000;

/// The measured cost of profiling.
struct ProfileOverhead {
  double profiled_ns = 0, plain_ns = 0;  ///< medians of an iteration
  std::int64_t profiled = 0, plain = 0;  ///< number of iterations
  double error_ns = 0;                   ///< standard error of profiled_ns − plain_ns
  double share() const { return plain_ns > 0 ? profiled_ns / plain_ns - 1 : 0; }
  /// Half width of the 95 % confidence interval of share().
  double share_margin() const { return plain_ns > 0 ? 1.96 * error_ns / plain_ns : 0; }
};

/// The result of a finished span.
struct ProfileResult {
  RankTrace trace;
  StepStructure structure;
  std::optional<ProfileOverhead> overhead;  ///< present with interleave
  std::vector<NumberedTask> tasks;          ///< tasks that ran, as far as they are known
  std::optional<HostShares> host;           ///< from start() to the span's end, where known
  std::vector<std::string> notes = {};      ///< remarks for people
};

class ProfileSession final : public PlanObserver, public TraceSink {
 public:
  explicit ProfileSession(ProfileSessionOptions options);
  ~ProfileSession() override;

  /// Starts a span. Call it before the span's first step is submitted: steps that have begun are
  /// left out. Returns invalid_argument if a span is active or not taken, or the numbers are out of
  /// range.
  Result<void> start(const ProfileSpan& span);

  /// Returns whether the span has ended and take() has a result. A span ends with stop(), or once
  /// the second step after its last one has begun: a task of that last step may begin before the
  /// first task that ends.
  bool is_done() const;
  /// Returns the profile once; nothing before the span has ended. The job may run meanwhile.
  /// Windows that miss records, because a buffer was full or the span was stopped, are left out,
  /// and so are records outside all windows.
  std::optional<ProfileResult> take();
  /// Ends the span with the steps that have ended; does nothing without a span.
  void stop();

  // Callbacks of PlanObserver and TraceSink, for the scheduler.
  void submitted(const SubmittedTask& task) override;
  void launched(const CapturedStep& step, TaskId first) override;
  void ready(TaskId task) override;
  void record(const TraceEvent& event) override;
  /// Keeps the step also while no span is active.
  void placed(const StepDescription& step) override;
  /// Wants the tasks of the profiled steps alone, so the cost measured with `interleave` includes
  /// that of their times.
  TraceDetail detail(std::int64_t step) const override;

 private:
  class Recorder;
  std::atomic<bool> on_ = false;  // a span is active
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace hocket
