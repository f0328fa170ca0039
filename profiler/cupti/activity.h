#pragma once

// One of CUPTI's records, with what the profiler uses of it, and the counts of those that it does
// not believe. Plain values.

#include <cstdint>

namespace hocket {

enum class ActivityType : std::uint8_t {
  kernel,
  copy,
  fill,
  overhead,
  runtime_call,
  driver_call,
  correlation,  ///< the call with this correlation is of the task `id`
  range_begin,  ///< NVTX; ranges with the same `id` belong together
  range_end,
  synchronization,
  event,  ///< a CUDA event was recorded
};

/// Times are of CUPTI's clock. What a type does not have is 0.
struct CuptiActivity {
  ActivityType type = ActivityType::kernel;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< equal for a moment
  std::uint32_t device = 0, context = 0, stream = 0;
  std::uint32_t thread = 0;  ///< of calls and ranges, and of overhead where it is known
  std::uint32_t correlation = 0;
  /// The function of a call, or CUPTI's number for the kind of copy, overhead or synchronisation.
  std::uint32_t code = 0;
  std::uint64_t id = 0;  ///< of a task, a range, or the event that was recorded or waited for
  std::int64_t bytes = 0;
  const char* name = nullptr;  ///< CUPTI's string, of kernels and begins of ranges
};

/// Records that cannot be true, or could not be read.
struct QuarantineCounts {
  std::int64_t zero_times = 0;      ///< CUPTI had no time for them
  std::int64_t reversed_times = 0;  ///< they end before they begin
  std::int64_t absurd_values = 0;   ///< times or sizes beyond what 63 bits hold
  std::int64_t unknown_kinds = 0;   ///< CUPTI does not know them; the rest of the buffer is lost
  std::int64_t truncated = 0;       ///< the buffer ends within them
  std::int64_t outside = 0;         ///< they lie outside of the time in which CUPTI recorded
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
