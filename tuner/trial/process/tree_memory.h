#pragma once

// The memory of a tree of processes while it runs: the sum of their proportional set sizes, so that
// a page that several of them share counts once. One thread at a time; pure apart from the table.
//
// The kernel walks a process's page tables to tell its proportional set size, and meanwhile delays
// the calls by which that process maps memory. The resident sizes cost next to nothing, and their
// sum is never less. So the proportional sizes are read only where they may change the peak or
// break the limit: while the resident sum is above the peak, and has grown by 1/64 since the last
// reading, is above the limit, or two seconds have passed, in which sharing may have changed.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tuner/trial/process/process_table.h"

namespace hocket {

/// Returns the descendants of `root` among `processes`, without `root`.
std::vector<ProcessEntry> descendants_of(std::span<const ProcessEntry> processes, pid_t root);

class TreeMemory {
 public:
  static constexpr std::int64_t kRereadNs = 2'000'000'000;

  /// Measures the descendants of `root`. `table` must outlive this.
  TreeMemory(const ProcessTable& table, pid_t root, std::optional<std::int64_t> limit_bytes)
      : table_(table), root_(root), limit_bytes_(limit_bytes) {}

  /// Looks at the tree. `now_ns` must not fall.
  void sample(std::int64_t now_ns);

  /// Highest sum so far. A process whose proportional size cannot be read counts with its resident
  /// size.
  std::int64_t peak_bytes() const { return peak_bytes_; }

  bool is_over_limit() const { return limit_bytes_ && peak_bytes_ > *limit_bytes_; }

 private:
  bool must_read(std::int64_t resident_bytes, std::int64_t now_ns) const;

  const ProcessTable& table_;
  const pid_t root_;
  const std::optional<std::int64_t> limit_bytes_;
  std::int64_t peak_bytes_ = 0;
  std::int64_t read_resident_bytes_ = 0;      ///< resident sum at the last reading
  std::optional<std::int64_t> read_ns_ = {};  ///< time of the last reading
};

}  // namespace hocket
