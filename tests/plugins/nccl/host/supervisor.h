#pragma once

// The parent: forks the ranks, continues those that stopped themselves, aborts the run when one
// died and kills all when the time is over. One thread.

#include <vector>

#include "tests/plugins/nccl/host/options.h"
#include "tests/plugins/nccl/host/rank.h"

namespace hocket::nccl_host {

struct RunEnd {
  std::vector<int> dead;  ///< ranks that ended by a signal or with an unexpected status
  bool exceeded_limit = false;
  double wall_s = 0;
};

RunEnd supervise(const Options& options, SharedRun& shared);

}  // namespace hocket::nccl_host
