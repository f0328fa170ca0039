#pragma once

// Files and folders that only their owner can use, such as those with secrets. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/files/regular_file.h"

namespace hocket {

/// Reads a whole file with a secret. Checks the file that was opened, so that it cannot be replaced
/// in between: a regular file of the process's user that nobody else can use, or one of root's that
/// its group may read, as keys of several services are kept. Errors as read_regular_file(), and
/// invalid_argument, with the command that mends it, if others can use it.
Result<std::string> read_private_file(const std::string& path, std::int64_t limit_bytes,
                                      Links links = Links::refused);

/// Creates a file with mode 0600 that appears with its whole text or not at all. Returns whether it
/// was created; false if the path exists, which is left unchanged.
Result<bool> create_private_file(const std::string& path, std::string_view text);

/// Returns the name of the file that create_private_file() was writing as `unfinished`, "NAME.PID",
/// when its process was killed; "" for any other name. Pure.
std::string_view finished_name(std::string_view unfinished);

/// Creates the folder and those above it that are missing, with mode 0700.
Result<void> create_private_folders(const std::string& path);

}  // namespace hocket
