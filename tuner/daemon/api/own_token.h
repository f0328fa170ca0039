#pragma once

// The token that the daemon makes for its own user (core/protocol/daemon_token.h). Thread-safe.

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hocket {

/// Returns the token of the daemon on that port; makes it and the folder if they are missing, with
/// the modes 0600 and 0700. Errors: those of read_daemon_token(), and unavailable if it cannot be
/// made.
Result<std::string> open_own_token(const std::string& state_folder, std::uint16_t port);

}  // namespace hocket
