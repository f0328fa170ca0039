#pragma once

// Command lines of the program, which may have a command to run behind "--". Pure functions;
// thread-safe.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct CommandLine {
  std::vector<std::string> own;                     ///< hocket's arguments
  std::optional<std::vector<std::string>> command;  ///< empty if there is no "--"
};

/// Splits at the first "--"; a later one belongs to the command.
CommandLine split_command_line(std::span<const std::string> arguments);

/// Returns the command, or an error that explains how to write one.
Result<std::vector<std::string>> required_command(
    const std::optional<std::vector<std::string>>& command, const std::string& verb);

/// Returns an error if there is a command, for a verb that runs none.
Result<void> no_command(const std::optional<std::vector<std::string>>& command,
                        const std::string& verb);

}  // namespace hocket
