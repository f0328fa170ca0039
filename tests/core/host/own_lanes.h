#pragma once

// The lanes that the ranks of this process show.

#include <unistd.h>

#include <vector>

#include "core/host/shown_ranks.h"

namespace hocket {

/// Returns the ranks of this process, by rank.
inline std::vector<RankLanes> own_lanes() {
  std::vector<RankLanes> own;
  for (ShownRank& rank : shown_ranks().ranks)
    if (rank.pid == ::getpid()) own.push_back(std::move(rank.lanes));
  return own;
}

}  // namespace hocket
