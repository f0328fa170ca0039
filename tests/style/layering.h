#pragma once

// Checks which folders include each other, against the table in docs/ARCHITECTURE.md. Pure
// functions.

#include <string_view>
#include <vector>

#include "tests/style/source_tree.h"

namespace hocket::style {

struct Include {
  std::string_view path;
  bool quoted = false;   ///< "path" rather than <path>
  std::size_t line = 0;  ///< counts from 1
};

std::vector<Include> includes_of(std::string_view text);

/// Returns the folder of the table that contains `path`, "" if none: "core/host" for
/// core/host/link.h, "store" for store/sqlite/rows.h.
std::string_view room_of(std::string_view path);

/// Checks includes of the project's own headers: paths start at the root, and lead to allowed
/// folders and not into another folder's private sub-folders. `tree` has all files.
Problems check_own_includes(const SourceFile& file, const std::vector<SourceFile>& tree);

/// Checks includes of libraries that only one part of the project may use.
Problems check_library_includes(const SourceFile& file);

}  // namespace hocket::style
