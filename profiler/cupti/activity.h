#pragma once

// One CUPTI record, reduced to the fields that the profiler uses, and the counts of quarantined
// records. Plain values.

#include <cstdint>

namespace hocket {

enum class ActivityType : std::uint8_t {
  kernel,
  copy,
  fill,
  overhead,
  runtime_call,
  driver_call,
  correlation,  ///< the call with this correlation belongs to task `id`
  range_begin,  ///< NVTX; the begin and end of a range share an `id`
  range_end,
  synchronization,
  event,  ///< a CUDA event was recorded
};

/// Times are on CUPTI's clock. Fields that a type does not have are 0.
struct CuptiActivity {
  ActivityType type = ActivityType::kernel;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< equal for an instant
  std::uint32_t device = 0, context = 0, stream = 0;
  std::uint32_t thread = 0;  ///< thread of calls and ranges, and of overhead where known
  std::uint32_t correlation = 0;
  /// Function of a call, or CUPTI's number for the kind of copy, overhead or synchronisation.
  std::uint32_t code = 0;
  std::uint64_t id = 0;  ///< id of a task, a range, or the event recorded or waited for
  std::int64_t bytes = 0;
  const char* name = nullptr;  ///< CUPTI's string, for kernels and range begins
};

/// Counts of records that are implausible or could not be read.
struct QuarantineCounts {
  std::int64_t zero_times = 0;      ///< without times
  std::int64_t reversed_times = 0;  ///< end before begin
  std::int64_t absurd_values = 0;   ///< times or sizes that exceed 63 bits
  std::int64_t unknown_kinds = 0;   ///< unknown to CUPTI; the rest of the buffer is lost
  std::int64_t truncated = 0;       ///< cut off by the end of the buffer
  std::int64_t outside = 0;         ///< outside the time in which CUPTI recorded
  std::int64_t unplaced = 0;        ///< the realtime clock was set while they ran

  std::int64_t total() const {
    return zero_times + reversed_times + absurd_values + unknown_kinds + truncated + outside +
           unplaced;
  }
  QuarantineCounts& operator+=(const QuarantineCounts& other) {
    zero_times += other.zero_times;
    reversed_times += other.reversed_times;
    absurd_values += other.absurd_values;
    unknown_kinds += other.unknown_kinds;
    truncated += other.truncated;
    outside += other.outside;
    unplaced += other.unplaced;
    return *this;
  }
  bool operator==(const QuarantineCounts&) const = default;
};

}  // namespace hocket
