#pragma once

// Removes hocket's own files from a folder, and follows no link on the way. Thread-safe.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// Removes the entries of the folder `path` whose name `is_own` accepts, and then the folder unless
/// it has others. Returns the bytes of the files that went; 0 if there is no such folder. Where
/// `path` or an entry is a symbolic link, the link goes, and what it names stays; links on the way
/// to `path` are followed. Returns unavailable if an entry cannot be removed, which may be a
/// folder.
Result<std::int64_t> remove_own_files(const std::string& path,
                                      const std::function<bool(std::string_view)>& is_own);

}  // namespace hocket
