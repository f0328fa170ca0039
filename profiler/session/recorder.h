#pragma once

// The part of a profile session that callbacks use while a span is active. Each lane has its own
// lock and buffer, so lanes do not contend; the plan's calls come one at a time.
//
// Lock order: control_, lanes in their order, decisions_. The device's recorder is called with any
// of them held.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "profiler/session/profile_session.h"
#include "profiler/session/span_log.h"

namespace hocket {

class ProfileSession::Recorder {
 public:
  /// `on` is true while a span is active.
  Recorder(ProfileSessionOptions options, std::atomic<bool>& on);

  Result<void> start(const ProfileSpan& span);
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  std::optional<ProfileResult> take();
  void stop();

  // The session's functions of the same names, called while `on` is true.
  void submitted(const SubmittedTask& task);
  void launched(const CapturedStep& step, TaskId first);
  void ready(TaskId task);
  void record(const TraceEvent& event);
  TraceDetail detail(std::int64_t step) const;
  /// Called at any time.
  void placed(const StepDescription& step);

 private:
  /// The state of one lane; lanes beyond the limits share one.
  struct alignas(64) Lane {
    std::mutex mutex;
    // Guarded by mutex:
    SpanLog* log = nullptr;
    EventPool::Cursor cursor = {};
  };

  static constexpr std::size_t kComputeLanes = 24, kChannels = 16, kOtherLanes = 8;

  Lane& lane_of(const TraceEvent& event);
  /// Handles the first task of a higher step: starts or stops recording, or ends the span. Requires
  /// a lane's lock.
  void step_shows(SpanLog& log, std::int64_t step);
  void keep_block(SpanLog& log, std::optional<std::int64_t> block);
  void keep(SpanLog& log, EventPool::Cursor& cursor, const TraceEvent& event);
  void submit(SpanLog& log, const SubmittedTask& task, std::int64_t now_ns);
  void sample_clocks(SpanLog& log);
  void end_span(SpanLog& log);
  std::optional<HostUse> host_use() const;
  void stop_keeping();
  /// Gives all lanes and the plan's calls `log`, which may be null.
  void hand_out(SpanLog* log);

  const ProfileSessionOptions options_;
  std::atomic<bool>& on_;
  std::atomic<bool> done_ = false;
  // Set with decisions_.mutex held, or while no log is handed out; read by all threads.
  std::atomic<bool> keeping_ = false;
  std::atomic<std::int64_t> first_kept_step_ = 0;
  // The active span; set before on_.
  struct {
    std::atomic<std::int64_t> first_step = 0, steps = 1, interleave = 0;
  } span_;

  std::mutex control_;
  // Guarded by control_:
  std::unique_ptr<SpanLog> log_;
  std::optional<StepDescription> placed_from_;

  std::array<Lane, kComputeLanes + kChannels + kOtherLanes> lanes_;

  struct alignas(64) {
    std::mutex mutex;
    // Guarded by mutex:
    SpanLog* log = nullptr;
  } decisions_;
};

}  // namespace hocket
