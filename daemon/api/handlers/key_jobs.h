#pragma once

// The running jobs of a key, and what of a configuration they can run. One thread.

#include <cstddef>
#include <string>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/step/schedule_config.h"
#include "daemon/api/handlers/call.h"
#include "store/store.h"

namespace hocket {

/// Checks the values of the job's own knobs against what the key's workload declares.
Result<void> check_own_knobs(Store& store, const ConfigKey& key, const ScheduleConfig& config);

struct KeyJobs {
  std::size_t running = 0;
  std::size_t can_change = 0;  ///< can change to the configuration while they run
  std::size_t can_start = 0;   ///< could only start with it
  std::string reason = {};     ///< why one of them cannot change to it
};

KeyJobs jobs_of(const RouteCall& call, const ConfigKey& key, const ScheduleConfig& config);

}  // namespace hocket
