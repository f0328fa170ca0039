#pragma once

// CUPTI in memory: it requests buffers, fills them with the records that a test supplies, and gives
// them back when they are full or flushed. It fails on demand. Thread-safe, and as strict as CUPTI:
// it holds its lock while it requests buffers, so a call from there deadlocks.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "profiler/cupti/cupti_api.h"
#include "tests/profiler/cupti/synthetic_records.h"

namespace hocket {

class FakeCupti final : public CuptiApi {
 public:
  /// CUPTI's clock shows the time of `clock` plus `ahead_ns`.
  explicit FakeCupti(const Clock& clock, std::int64_t ahead_ns = 0)
      : ahead_ns(ahead_ns), clock_(clock) {}

  // Settings, made before the test begins.
  std::uint32_t library_version = CUPTI_API_VERSION;
  int driver = 13'000;
  std::string other_subscriber;           ///< name of a tool that holds the subscription; "": none
  std::set<std::uint32_t> refused_kinds;  ///< kinds for which enable() fails
  std::int64_t fails_at = -1;             ///< index of the call that fails, among those that can
  /// Unforced flushes complete no buffer, as if records were incomplete.
  bool keeps_on_flush = false;
  std::int64_t ahead_ns = 0;

  // Adds records of what ran, if their kind is enabled.
  void record(const RecordBytes& record);
  /// Launches a kernel from this thread, for the marked task; returns its correlation.
  std::uint32_t launch(const char* kernel, std::uint32_t stream, std::int64_t call_ns,
                       std::int64_t begin_ns, std::int64_t end_ns);
  /// Gives back the buffer that was written into, even if it is not full.
  void complete_buffer();

  // State for a test to check.
  std::set<std::uint32_t> enabled() const;
  bool is_subscribed() const;
  std::int64_t recorded() const;  ///< number of records written into buffers
  std::int64_t dropped_in_all() const;
  std::int64_t fallible_calls() const;
  std::int64_t flushes(bool forced) const;
  std::int64_t detached() const;
  std::int64_t calls_while_gone() const;  ///< calls that need CUPTI, made after detach()
  std::size_t open_marks() const;         ///< marks of all threads
  bool records_vain_queries() const;
  bool shares_buffers() const;

  std::uint32_t version() const override { return library_version; }
  int driver_version() const override { return driver; }
  std::string status_name(int status) const override;
  int subscribe(std::string& holder) override;
  int unsubscribe() override;
  int detach() override;
  int register_buffers(std::shared_ptr<ActivityBuffers> buffers) override;
  int promise_zeroed_buffers() override;
  int share_buffers() override;
  int enable(std::uint32_t kind) override;
  int disable(std::uint32_t kind) override;
  int leave_out(ApiDomain domain, std::uint32_t id) override;
  int leave_out_vain_queries() override;
  int flush(bool forced) override;
  int take_dropped(std::size_t& records) override;
  int timestamp(std::uint64_t& ns) const override;
  int push_task(std::uint64_t id) override;
  int pop_task() override;
  int next_record(std::span<const std::uint8_t> bytes, const std::uint8_t*& record) const override;
  std::string call_name(ApiDomain domain, std::uint32_t id) const override;

 private:
  /// Requires mutex_ held.
  int fails() const;
  bool is_left_out(const RecordBytes& record) const;
  void write(const RecordBytes& record);
  void complete();

  const Clock& clock_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  mutable std::int64_t calls_ = 0;
  std::shared_ptr<ActivityBuffers> buffers_;
  std::vector<std::shared_ptr<ActivityBuffers>> former_;
  std::span<std::uint8_t> current_;
  std::shared_ptr<ActivityBuffers> owner_;  // owner of current_
  std::size_t used_ = 0;
  std::set<std::uint32_t> enabled_;
  // Excluded calls, by kind and number.
  std::set<std::pair<std::uint32_t, std::uint32_t>> left_out_;
  bool records_vain_queries_ = true, shares_buffers_ = false;
  bool is_subscribed_ = false;
  std::map<std::thread::id, std::vector<std::uint64_t>> marks_;
  std::uint32_t next_correlation_ = 1;
  std::int64_t recorded_ = 0, dropped_in_all_ = 0, detached_ = 0;
  bool is_gone_ = false;
  mutable std::int64_t calls_while_gone_ = 0;
  std::size_t dropped_ = 0;
  std::map<bool, std::int64_t> flushes_;
};

}  // namespace hocket
