#pragma once

// `hocket stragglers --job`: which rank of a running job the others wait for, as a daemon says. One
// thread.

#include <string>

#include "cli/base/context.h"
#include "cli/inputs/access/daemon_access.h"

namespace hocket {

struct LiveStragglersOptions {
  DaemonChoice daemon;
  std::string job;  ///< its id, or its name when only one job has it
  bool json = false;
};

Result<int> show_live_stragglers(const LiveStragglersOptions& options, VerbContext& context);

}  // namespace hocket
