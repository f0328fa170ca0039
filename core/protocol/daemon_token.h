#pragma once

// The token that a daemon makes for the user who runs it. It lies in the user's state folder, under
// the port, where that user's jobs and verbs find it from the daemon's address alone. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// Returns the path of the token of the daemon on that port: "daemon-7077.token" in the folder.
std::string daemon_token_path(const std::string& state_folder, std::uint16_t port);

/// Returns whether a file of this name in the folder is a daemon's token.
bool is_daemon_token_name(std::string_view name);

/// Reads a file with one token of printable ASCII without spaces, which only its owner can read
/// (core/files/private_file.h). Returns not_found if there is none, invalid_argument for a file
/// that must not be used.
Result<std::string> read_daemon_token(const std::string& path);

}  // namespace hocket
