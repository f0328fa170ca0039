#pragma once

// The part of a profile session that callbacks reach while a span is under way. Each lane has a
// lock and a place to write of its own, so lanes do not meet; the plan's calls come one at a time.
//
// Locks are taken in this order: control_, lanes in their order, decisions_. The recorder of the
// device is called with any of them held.

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
  /// `on` is true while a span is under way.
  Recorder(ProfileSessionOptions options, std::atomic<bool>& on);

  Result<void> start(const ProfileSpan& span);
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  std::optional<ProfileResult> take();
  void stop();

  // As the session's, called while it is on.
  void submitted(const SubmittedTask& task);
  void launched(const CapturedStep& step, TaskId first);
  void ready(TaskId task);
  void record(const TraceEvent& event);

 private:
  /// Of one lane, or several that share it where there are very many.
  struct alignas(64) Lane {
    std::mutex mutex;
    // Guarded by mutex:
    SpanLog* log = nullptr;
    EventPool::Cursor cursor = {};
  };

  static constexpr std::size_t kComputeLanes = 24, kChannels = 16, kOtherLanes = 8;

  Lane& lane_of(const TraceEvent& event);
  /// A higher step has shown: begins or ends to keep things, or ends the span. Under a lane's lock.
  void step_shows(SpanLog& log, std::int64_t step);
  void keep_block(SpanLog& log, std::optional<std::int64_t> block);
  void keep(SpanLog& log, EventPool::Cursor& cursor, const TraceEvent& event);
  void submit(SpanLog& log, const SubmittedTask& task, std::int64_t now_ns);
  void sample_clocks(SpanLog& log);
  void end_span();
  void stop_keeping();
  /// Gives all lanes and the plan's calls `log`, which may be null.
  void hand_out(SpanLog* log);

  const ProfileSessionOptions options_;
  std::atomic<bool>& on_;
  std::atomic<bool> done_ = false;
  // Set with decisions_.mutex held, or while no log is handed out; read by all.
  std::atomic<bool> keeping_ = false;
  std::atomic<std::int64_t> first_kept_step_ = 0;

  std::mutex control_;
  // Guarded by control_:
  std::unique_ptr<SpanLog> log_;

  std::array<Lane, kComputeLanes + kChannels + kOtherLanes> lanes_;

  struct alignas(64) {
    std::mutex mutex;
    // Guarded by mutex:
    SpanLog* log = nullptr;
  } decisions_;
};

}  // namespace hocket
