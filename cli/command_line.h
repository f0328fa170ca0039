#pragma once

// Command lines as people write them. Pure functions; thread-safe.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace hocket {

struct CommandLine {
  std::vector<std::string> own;                     ///< hocket's arguments
  std::optional<std::vector<std::string>> command;  ///< nothing when there is no "--"
};

/// Splits at the first "--"; a later one belongs to the command.
CommandLine split_command_line(std::span<const std::string> arguments);

/// The command, or an error that says how to write one.
Result<std::vector<std::string>> required_command(
    const std::optional<std::vector<std::string>>& command, const std::string& verb);

/// An error when there is a command, for verbs that run none.
Result<void> no_command(const std::optional<std::vector<std::string>>& command,
                        const std::string& verb);

/// Returns a name for a command that does not say what it is: the base name of its program, or of
/// the program that `hocket run` starts.
std::string command_name(std::span<const std::string> command);

}  // namespace hocket
