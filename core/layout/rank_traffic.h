#pragma once

// The communication of a rank in a step, as its program says. Pure; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace hocket {

/// Communications of one kind in one group and region.
struct RankTraffic {
  std::string region;  ///< with its marks
  OperationKind kind = OperationKind::all_reduce;
  std::string group;
  std::int64_t ranks = 1;  ///< of the group
  std::int64_t count = 0;
  /// Bytes that the rank sends, as a ring does: of n ranks' B bytes (n − 1) / n · B, for an
  /// all-reduce twice as much.
  std::int64_t sent_bytes = 0;
};

/// Returns them in the order of the program.
std::vector<RankTraffic> traffic_of(const Graph& program);

}  // namespace hocket
