#pragma once

// Bounds of what the daemon keeps in memory for its clients, so that it does not grow without limit
// while its store is locked, or while jobs and keys come and go. What is full answers 503
// (ErrorCode::unavailable) until there is room; what can be read again from the store is evicted,
// least recently used first. Defaults are far above what a cluster needs. The time after which a
// silent job counts as gone is kJobSilenceNs (daemon/live/job_registry.h).

#include <cstddef>
#include <cstdint>

namespace hocket {

struct MemoryLimits {
  // Running jobs, refused when full:

  std::size_t jobs = 100'000;
  /// Bytes of their descriptions as JSON; a step description may take most of a request.
  std::size_t job_bytes = 256 << 20;
  /// Counters of ranks that all jobs together keep: 64 MiB.
  std::size_t job_counters = 2 << 20;
  /// Keys of running jobs.
  std::size_t job_keys = 16'384;

  // Events that live tuning has not processed, refused when full. Reports of a job are joined, and
  // a key or job that changed is noted once.

  /// Keys that changed.
  std::size_t pending_keys = 16'384;
  /// Bytes of reports, about.
  std::size_t pending_report_bytes = 64 << 20;
  /// Iteration times of a job in joined reports; older ones are dropped, as only the newest matter.
  std::size_t pending_iterations = 10'000;
  /// Outcomes of versions that could not be recorded yet, because the store fails. Reports with
  /// outcomes are refused when there are as many.
  std::size_t waiting_outcomes = 16'384;

  // Read again when needed, evicted when full:

  /// Keys that have no jobs and no watchers, in live tuning.
  std::size_t idle_keys = 1'024;
  /// Time without use after which such a key may be evicted.
  std::int64_t idle_key_ns = 60'000'000'000;
  /// Current configurations of keys.
  std::size_t board_entries = 16'384;
  /// Searches of studies whose trials are run by workers.
  std::size_t study_sessions = 64;
};

}  // namespace hocket
