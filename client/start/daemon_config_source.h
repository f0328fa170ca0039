#pragma once

// Sources of a job's configuration when there is a daemon: the daemon itself, and the daemon's last
// answer as a fallback (client/start/last_good.h). One thread.

#include <memory>
#include <optional>
#include <string>

#include "client/link/daemon_access.h"
#include "core/protocol/config_source.h"
#include "core/protocol/runnable_values.h"

namespace hocket {

/// Asks the daemon for the configuration of exactly this topology and workload. If the daemon has
/// none but knows a similar job, the answer is the default configuration with that job named in
/// `origin`: a configuration measured for another job is not used unmeasured. `can_run` is what the
/// job says that it can run; the daemon answers with nothing else.
std::unique_ptr<ConfigSource> open_daemon_config_source(DaemonAccess daemon,
                                                        RunnableValues can_run = {});

/// Wraps `source`: stores its answers of source "daemon" in `folder`, and removes the stored one
/// when `source` gives any other answer. If `source` fails, returns the stored configuration with
/// source "last good" and the error as a warning. Without a folder nothing is stored.
std::unique_ptr<ConfigSource> with_last_good(std::unique_ptr<ConfigSource> source,
                                             std::optional<std::string> folder);

/// Returns the daemon with the fallback, as configured by HOCKET_DAEMON and its related variables;
/// null if HOCKET_DAEMON is unset or empty.
std::unique_ptr<ConfigSource> daemon_source_from_environment(const Environment& environment,
                                                             RunnableValues can_run = {});

}  // namespace hocket
