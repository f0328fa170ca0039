#pragma once

// The processes of a host and their memory: the seam between what decides and /proc. Thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hocket {

struct ProcessEntry {
  pid_t pid = 0, parent = 0;
  std::int64_t resident_bytes = 0;  ///< shared pages count in full; 0 for a process that has ended

  bool operator==(const ProcessEntry&) const = default;
};

class ProcessTable {
 public:
  virtual ~ProcessTable() = default;

  /// Returns all processes, in any order; those that start or end meanwhile may be missing. Empty
  /// if they cannot be listed.
  virtual std::vector<ProcessEntry> processes() const = 0;

  /// Returns the proportional set size, in which a page that n processes share counts as 1/n;
  /// nothing if the process has ended, belongs to another user, or the kernel does not tell.
  virtual std::optional<std::int64_t> proportional_bytes(pid_t pid) const = 0;
};

/// Returns the table of this host, read from /proc.
const ProcessTable& host_processes();

/// Parses a line of /proc/PID/stat, "PID (NAME) STATE PPID …", where NAME may contain anything.
std::optional<ProcessEntry> parse_process_stat(std::string_view text, std::int64_t page_bytes);

/// Returns the bytes in the line "Pss: N kB" of /proc/PID/smaps_rollup.
std::optional<std::int64_t> parse_proportional_bytes(std::string_view text);

}  // namespace hocket
