#pragma once

// `hocket stragglers --job`: which rank of a running job the others wait for, as a daemon says. One
// thread.

#include <string>

#include "cli/base/context.h"
#include "cli/inputs/access/daemon_access.h"

namespace hocket {

struct LiveStragglersOptions {
  DaemonChoice daemon;
  std::string job;  ///< id of the job, or its name if no other job has the name
  bool json = false;
};

Result<int> show_live_stragglers(const LiveStragglersOptions& options, VerbContext& context);

}  // namespace hocket
