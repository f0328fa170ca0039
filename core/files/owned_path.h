#pragma once

// Refuses files and folders that another user could change although hocket trusts them. Tokens,
// last good configurations and traces lie in folders that only their user may write; whoever can
// write a store can run commands as those who use it. Errors say the mode found, the mode needed
// and the command that mends it. Thread-safe.

#include <sys/types.h>

#include <string>

#include "core/base/result.h"

namespace hocket {

/// Returns the permissions of a mode as chmod(1) takes them: "0644".
std::string mode_text(mode_t mode);

/// Returns invalid_argument unless the folder belongs to the process's user or to root, nobody else
/// can write in it, and nobody else can put another one in its place: by a link that he owns or
/// that lies where everybody can write, or in a folder above it. A folder that is missing is fine.
Result<void> check_private_folder(const std::string& path);

/// Returns invalid_argument if everybody can write the file at `path`, an absolute path without
/// links, or can put another one in its place; also if it lies where everybody can make files and
/// belongs to neither the process's user nor root. A file that is missing is fine.
Result<void> check_not_everybodys(const std::string& path);

}  // namespace hocket
