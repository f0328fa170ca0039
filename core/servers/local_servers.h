#pragma once

// Parameter servers in memory, for ranks that are threads of one process. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/collective/parameter_servers.h"
#include "core/servers/part_sums.h"

namespace hocket {

/// State shared by the ranks.
class LocalServers {
 public:
  /// A wait for a sum lasts at most `timeout_ns`. Each server keeps sums of at most `limit_bytes`.
  LocalServers(int ranks, int servers, std::int64_t timeout_ns = 30'000'000'000,
               std::size_t limit_bytes = kSumsLimitBytes);

  /// Returns one rank's servers, once for each rank; the group must outlive them. A rank that
  /// destroys them has left, one that aborts them is gone: both fail the others' parts that need
  /// it.
  std::unique_ptr<ParameterServers> join(int rank);

 private:
  friend class LocalServersOfRank;

  const int ranks_;
  const std::int64_t timeout_ns_;
  std::vector<std::unique_ptr<PartSums>> sums_;  // by server
};

}  // namespace hocket
