#pragma once

// Checks the daemon that this user's jobs ask, and what a daemon on this host has. One thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/checks/check.h"

namespace hocket {

/// Says whether the daemon that HOCKET_DAEMON names answers this user.
Check check_daemon();

/// Says whether a daemon that may open so many files can have as many connections as it accepts.
Check check_open_files(std::uint64_t limit);

/// Interprets what `systemctl show` prints of the unit; nothing if there is no systemd.
Check check_unit(const std::optional<std::string>& shown);

/// Returns all of these checks of this process' surroundings.
std::vector<Check> check_service();

}  // namespace hocket
