#pragma once

// Events of jobs and keys, for the thread of live tuning. Events of the same registration of a job
// (daemon/live/job_registry.h) or of the same key are joined, so that their number is that of the
// registrations and keys, however long the thread is held up by the store. Thread-safe.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <variant>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "daemon/live/memory_limits.h"

namespace hocket {

/// A job became reachable or unreachable, or its registration has ended.
struct JobChanged {
  std::uint64_t number = 0;  ///< RunningJob::number
};
struct JobReported {
  std::uint64_t number = 0;
  JobReport report;
};
struct KeyChanged {
  ConfigKey key;
};
struct Tick {};

using LiveEvent = std::variant<Tick, JobChanged, KeyChanged, JobReported>;

/// Adds a later report of the same registration to `report`. Times before the later outcomes are
/// dropped, because they were measured under another configuration, and so are the oldest ones
/// above `most_iterations`.
void append_report(JobReport& report, JobReport later, std::size_t most_iterations);

class LiveEvents {
 public:
  explicit LiveEvents(const MemoryLimits& limits) : limits_(limits) {}

  void tick();
  /// The others return unavailable when the queue is full; then nothing was added.
  Result<void> job_changed(std::uint64_t number);
  Result<void> key_changed(const ConfigKey& key);
  Result<void> reported(std::uint64_t number, JobReport report);

  /// Returns whether a report of that registration waits.
  bool has_report_of(std::uint64_t number) const;

  /// Returns the oldest event; nothing if there is none.
  std::optional<LiveEvent> take();

  /// Blocks until there is an event, at most until `time`.
  void wait_until(const std::stop_token& stop, std::chrono::steady_clock::time_point time);

  std::size_t size() const;

 private:
  struct Reported {
    std::uint64_t number;
  };
  /// In the order of arrival. Names what is in the members below.
  using Entry = std::variant<Tick, JobChanged, KeyChanged, Reported>;

  void push(Entry entry);

  const MemoryLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable_any happened_;
  // Guarded by mutex_:
  std::deque<Entry> entries_;
  bool has_tick_ = false;
  std::set<std::uint64_t> changed_jobs_;
  std::set<std::string> changed_keys_;
  std::map<std::uint64_t, JobReport> reports_;  // by the job's number
  std::size_t report_bytes_ = 0;
};

}  // namespace hocket
