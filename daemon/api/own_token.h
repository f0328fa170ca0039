#pragma once

// The token that the daemon makes for its own user (core/protocol/daemon_token.h). Thread-safe.

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "daemon/http/log.h"

namespace hocket {

/// Returns 256 random bits as hexadecimal digits; unavailable if the system has none.
Result<std::string> random_token();

/// Returns the address of the page of the daemon at `url`, with the token, unless it is empty, in
/// the fragment, which browsers do not send: "http://127.0.0.1:7077/#token=…".
std::string page_address(const std::string& url, const std::string& token);

/// Returns the token of the daemon on that port; makes it and the folder if they are missing, with
/// the modes 0600 and 0700. Errors: those of read_daemon_token() and check_private_folder()
/// (core/files/owned_path.h), and unavailable if it cannot be made. A file of this user's alone
/// that holds no token is made anew, which is a warning in the log.
Result<std::string> open_own_token(const std::string& state_folder, std::uint16_t port,
                                   const Log& log = Log());

}  // namespace hocket
