#pragma once

// The implementation of CuptiSession: the state of its span, and the thread that reads buffers.
// Private to profiler/cupti. Thread-safe as CuptiSession.
//
// Lock order: control_ before data_. CUPTI's callbacks take neither, since they use only the pool.
// With data_ held, CUPTI is called only for the names of calls.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "profiler/cupti/clock_map.h"
#include "profiler/cupti/cupti_session.h"
#include "profiler/cupti/device_records.h"
#include "profiler/cupti/timeline.h"

namespace hocket {

class CuptiSession::Recording {
 public:
  Recording(std::shared_ptr<CuptiApi> api, CuptiSessionOptions options);
  ~Recording();

  /// Takes CUPTI and starts the thread.
  Result<void> open();

  bool begin_task(std::int64_t step, TaskId task);
  void end_task() { api_->pop_task(); }

  void resume();
  void pause();
  void add_to(ProfileResult& result);

 private:
  /// The state of one span.
  struct Span {
    explicit Span(std::size_t capacity) : timeline(capacity) {}

    CuptiTimeline timeline;
    ClockMap clock;
    TimelineSpan about;
    std::string warning;
    std::int64_t refused_before = 0;
    std::size_t lost = 0;  ///< records that CUPTI dropped, up to the last note_end()
    bool has_begun = false;
  };

  std::unique_ptr<Span> new_span() const;
  // These require control_ held.
  /// Takes CUPTI, registers the buffers and tries each kind.
  Result<void> attach();
  /// Removes CUPTI if the options say so.
  void detach();
  /// Takes CUPTI's time as the span's end, and its count of dropped records.
  void note_end();
  /// Makes CUPTI hand over full buffers, and detaches it when the pause has lasted long.
  void look_after();
  void begin_recording();
  void end_recording();
  CuptiProfile collect();
  void read_clock();
  void add_warning(const std::string& text);
  void warn(const std::string& what, int status);

  void read_buffers();
  void read(const FilledBuffer& buffer);

  const std::shared_ptr<CuptiApi> api_;
  const CuptiSessionOptions options_;
  const std::shared_ptr<BufferPool> pool_;
  bool is_open_ = false;
  std::thread reader_;

  std::atomic<bool> is_marking_ = false;  // tasks are marked in CUPTI
  std::atomic<bool> is_enabled_ = false;  // CUPTI records

  // Serialises all functions except begin_task() and end_task(). The thread never waits for it,
  // since collect() holds it and waits for the thread.
  std::mutex control_;
  // Guarded by control_:
  bool is_attached_ = false;
  bool may_be_more_ = false;  // CUPTI may have full buffers although it does not record
  int idle_periods_ = 0;      // number of idle periods since the pause

  std::mutex data_;
  // Guarded by data_; replaced with control_ held, too:
  std::unique_ptr<Span> span_;
  bool is_recording_ = false;  // CUPTI may still deliver records of span_
  std::int64_t late_buffers_ = 0;
};

}  // namespace hocket
