#pragma once

// Rules about comments and about the paths that comments and pages name (docs/STYLE.md). Pure
// functions.

#include <functional>
#include <string>
#include <string_view>

#include "tests/style/source_tree.h"

namespace hocket::style {

/// Refuses comments that open with "What", "Of", "That", "Whether", "How" or "Those": such a
/// comment leans on what it stands beside, and a reader has to guess what it says.
Problems check_comment_openings(const SourceFile& file);

/// Returns whether there is a file or folder of that path from the root.
using PathExists = std::function<bool(const std::string&)>;

/// Requires that the paths from the root exist that comments and pages name, and the targets of
/// Markdown's links. A path with a name in capitals stands for others ("cli/verbs/VERB.cc"); then
/// its folder must exist.
Problems check_named_paths(const SourceFile& file, const PathExists& exists);

}  // namespace hocket::style
