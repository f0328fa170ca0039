#pragma once

// Communication with systemd (sd_notify(3), sd_listen_fds(3)), by its library, which is opened when
// systemd has started this process. Does nothing without systemd.

#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Returns the listening TCP sockets that systemd passed to this process, if any; the caller owns
/// them. Refuses other sockets, and where the library cannot be opened. Removes the environment
/// variables that name them, so that a second call and child processes find none. Call it before
/// other threads start.
Result<std::vector<int>> inherited_listeners();

/// Notify systemd that requests are served from now on, or that the service stops. Thread-safe.
void notify_ready();
void notify_stopping();

}  // namespace hocket
