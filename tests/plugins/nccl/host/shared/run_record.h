#pragma once

// The counts of a run, in memory that outlives a killed rank. A rank's record is written by that
// rank's threads; the parent reads it at the end.

#include <atomic>
#include <cstdint>
#include <string_view>

#include "tests/plugins/nccl/host/model/choice.h"
#include "tests/plugins/nccl/host/shared/shared_memory.h"

namespace hocket::nccl_host {

/// Nanoseconds of CLOCK_MONOTONIC.
std::int64_t now_ns();
/// Returns what two readings of the clock in a row differ by, in the middle of many.
std::int64_t clock_overhead_ns();

/// Counts of durations, in buckets that are less than 7 % wide.
class Histogram {
 public:
  void add(std::int64_t ns);
  void add(const Histogram& other);
  std::uint64_t count() const;
  std::uint64_t total_ns() const { return total_ns_; }
  std::uint64_t max_ns() const { return max_ns_; }
  /// Returns an upper bound of the share `quantile` of durations; 0 if there are none.
  std::uint64_t at(double quantile) const;

 private:
  static constexpr int kBuckets = 16 * 61;
  std::atomic<std::uint64_t> buckets_[kBuckets] = {}, total_ns_{0}, max_ns_{0};
};

enum class Violation {
  changed_disallowed,  ///< wrote to an entry of the table that was -1
  nothing_allowed,     ///< left no entry that NCCL accepts
  error_returned,      ///< getCollInfo, which fails the collective
  invalid_channels,    ///< negative, or more than CollNet has
  failed_init,         ///< of the tuner, which fails the communicator
  failed_finalize,
  mask_without_context,  ///< asks version 4 for events after an init that failed
  count
};

const char* name_of(Violation violation);

struct ChoiceCount {
  Shape shape = {};
  Choice choice = {};
  std::uint64_t count = 0;
  std::uint64_t last = 0;  ///< number of the rank's collective in which it ran last
};

struct RankRecord {
  static constexpr int kChoices = 4096;

  enum class End : std::uint32_t { running, finished, aborted };

  std::atomic<End> end{End::running};
  std::atomic<std::uint64_t> decisions{0}, tuner_calls{0}, simulated{0}, replayed{0}, iterations{0},
      first_uses{0}, switches{0}, unrecorded{0};
  std::atomic<std::uint64_t> violations[static_cast<int>(Violation::count)] = {};
  std::atomic<int> tuner_version{0}, profiler_version{0};
  std::atomic<bool> is_deciding{false};  ///< the tuner has not returned from getCollInfo
  std::atomic<int> stop_ms{0};           ///< for how long the parent leaves the rank stopped
  Histogram decision, profiler_call;
  /// The choices that ran in communicators in which this rank is the lowest. An entry is written
  /// before the count rises; what found no room is only counted in `unrecorded`.
  std::atomic<int> choice_count{0};
  ChoiceCount choices[kChoices] = {};
};

/// First violations of a run in words.
struct ViolationLog {
  static constexpr int kLines = 16;
  SharedMutex mutex;
  // Guarded by the mutex.
  int lines = 0;
  char text[kLines][160] = {};

  void add(std::string_view line);
};

}  // namespace hocket::nccl_host
