#pragma once

// What systemd and a service tell one another (sd_notify(3), sd_listen_fds(3)). Without systemd
// nothing happens.

#include <vector>

#include "core/base/result.h"

namespace hocket {

/// The listening TCP sockets that systemd passed to this process, none when it passed nothing; the
/// caller owns them. Refuses other sockets. Removes the variables that name them, so that a second
/// call and children find none; call it before there are threads.
Result<std::vector<int>> inherited_listeners();

/// Requests are served from now on. Thread-safe, as is notify_stopping().
void notify_ready();
void notify_stopping();

}  // namespace hocket
