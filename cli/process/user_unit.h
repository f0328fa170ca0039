#pragma once

// The systemd unit by which a user without root has the daemon run (man systemd.unit, "User unit
// search path"). Pure functions; thread-safe.

#include <map>
#include <string>
#include <vector>

#include "client/link/environment.h"
#include "core/base/result.h"

namespace hocket {

struct UserUnit {
  std::vector<std::string> command;              ///< the program's path and its arguments
  std::map<std::string, std::string> variables;  ///< for the daemon
  std::string folder;                            ///< relative paths of the command count from it
};

/// Returns the file of the unit; "" where the environment has neither XDG_CONFIG_HOME nor HOME.
std::string user_unit_path(const Environment& environment);

/// Returns those variables of the environment that say where hocket has its files: the user's
/// systemd starts the daemon without what a shell has set.
std::map<std::string, std::string> user_unit_variables(const Environment& environment);

/// Returns the text of the unit. Returns invalid_argument for a word with control characters, which
/// a line of a unit cannot have.
Result<std::string> unit_text(const UserUnit& unit);

}  // namespace hocket
