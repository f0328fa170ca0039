#pragma once

// Files and folders that only their owner can use, such as those with secrets. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// Reads a whole file. Checks the file that was opened, so that it cannot be replaced in between:
/// a regular file of the process's user or of root that nobody else can read or write, and no
/// symbolic link. Returns not_found if it is missing, invalid_argument if it is another kind of
/// file or others can use it, unavailable if it cannot be read or is larger than `limit_bytes`.
Result<std::string> read_private_file(const std::string& path, std::int64_t limit_bytes);

/// Creates a file with mode 0600 that appears with its whole text or not at all. Returns whether it
/// was created; false if the path exists, which is left unchanged.
Result<bool> create_private_file(const std::string& path, std::string_view text);

/// Returns the name of the file that create_private_file() was writing as `unfinished`, "NAME.PID",
/// when its process was killed; "" for any other name. Pure.
std::string_view finished_name(std::string_view unfinished);

/// Creates the folder and those above it that are missing, with mode 0700.
Result<void> create_private_folders(const std::string& path);

}  // namespace hocket
