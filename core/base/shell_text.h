#pragma once

// Command lines as a POSIX shell reads them. Pure functions; thread-safe.

#include <span>
#include <string>

namespace hocket {

/// Returns `argument` quoted so that a POSIX shell reads it back unchanged.
std::string shell_quoted(const std::string& argument);

/// Returns the quoted arguments, separated by spaces.
std::string shell_text(std::span<const std::string> arguments);

}  // namespace hocket
