#pragma once

// Checks the daemon that this user's jobs ask, and what a daemon on this host has. One thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/checks/check.h"

namespace hocket {

/// Says whether the daemon that HOCKET_DAEMON names answers this user.
DoctorCheck check_daemon();

/// Says whether a daemon that may open so many files can have as many connections as it accepts.
DoctorCheck check_open_files(std::uint64_t limit);

/// Interprets what `systemctl show` prints of the unit; nothing if there is no systemd.
DoctorCheck check_unit(const std::optional<std::string>& shown);

/// Returns all of these checks of this process' surroundings.
std::vector<DoctorCheck> check_service();

}  // namespace hocket
