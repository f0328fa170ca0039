#pragma once

// The use of the processors by a process and by the rest of its host, from Linux's counters. The
// difference of two readings says whether a measurement between them was disturbed by other load.
// Any thread.

#include <cstdint>
#include <optional>
#include <string_view>

namespace hocket {

struct HostUse {
  std::int64_t at_ns = 0;    ///< time of the reading, on a monotonic clock
  std::int64_t run_ns = 0;   ///< time that the process's threads have run
  std::int64_t wait_ns = 0;  ///< time that they could have run and waited for a processor
  std::int64_t busy_ns = 0;  ///< time that all processors have been busy, with any process
  std::int64_t processors = 0;
};

/// Reads the counters of this process and host; nothing where the system does not keep them. Costs
/// some microseconds a thread.
std::optional<HostUse> read_host_use();

/// Shares of the time between two readings.
struct HostShares {
  /// Share of the time in which the process's threads could have run that they waited for a
  /// processor, 0 to 1.
  double waiting = 0;
  /// Share of all processors' time that other processes used, 0 to 1.
  double others = 0;

  bool operator==(const HostShares&) const = default;
};

/// Returns nothing if no time passed or a counter went back, as it does when a thread ends.
std::optional<HostShares> shares_between(const HostUse& before, const HostUse& after);

/// Adds the times of one thread, "RUN_NS WAIT_NS SLICES" (/proc/PID/task/TID/schedstat). Returns
/// false if `text` is not such a line.
bool add_schedstat(std::string_view text, HostUse& use);

/// Reads the busy time and the number of processors from the text of /proc/stat, in which times are
/// in units of 1 / `ticks_per_second`. Returns false if `text` is not of that form.
bool add_stat(std::string_view text, std::int64_t ticks_per_second, HostUse& use);

}  // namespace hocket
