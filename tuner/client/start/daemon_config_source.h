#pragma once

// Where a job's configuration comes from when there is a daemon: the daemon, and behind it what the
// daemon said last (tuner/client/start/last_good.h). One thread.

#include <memory>
#include <optional>
#include <string>

#include "core/protocol/config_source.h"
#include "tuner/client/link/daemon_access.h"

namespace hocket {

/// Asks the daemon for the configuration of exactly this topology and workload. Where it has none
/// but knows a similar job, the answer is the default with the neighbour named in `origin`: what
/// was measured elsewhere is not run unmeasured.
std::unique_ptr<ConfigSource> open_daemon_config_source(DaemonAccess daemon);

/// `source`, whose answers of source "daemon" are kept in `folder`, and forgotten there when it
/// answers something else. When it gives an error, the answer is the one kept, of source "last
/// good" and with the error as a warning. No folder: nothing is kept.
std::unique_ptr<ConfigSource> with_last_good(std::unique_ptr<ConfigSource> source,
                                             std::optional<std::string> folder);

/// Both, as HOCKET_DAEMON and what belongs to it ask for; null when that is unset or empty.
std::unique_ptr<ConfigSource> daemon_source_from_environment(const Environment& environment);

}  // namespace hocket
