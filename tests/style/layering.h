#pragma once

// Who may include whom: the table in docs/ARCHITECTURE.md. Pure functions.

#include <string_view>
#include <vector>

#include "tests/style/source_tree.h"

namespace hocket::style {

struct Include {
  std::string_view path;
  bool quoted = false;   ///< "path" rather than <path>
  std::size_t line = 0;  ///< from 1
};

std::vector<Include> includes_of(std::string_view text);

/// The folder of the table that `path` belongs to, "" when it is in none: "core/host" for
/// core/host/link.h, "store" for store/sqlite/rows.h.
std::string_view room_of(std::string_view path);

/// Includes of the project's own headers: from the root, into allowed folders, and not into another
/// folder's private sub-folders. `tree` holds every file there is.
Problems check_own_includes(const SourceFile& file, const std::vector<SourceFile>& tree);

/// Includes of libraries that one part of the project keeps to itself.
Problems check_library_includes(const SourceFile& file);

}  // namespace hocket::style
