#pragma once

// Rules about the text of one file (docs/STYLE.md). Pure functions.

#include "tests/style/source_tree.h"

namespace hocket::style {

inline constexpr std::size_t kMaxColumns = 100;
inline constexpr std::size_t kMaxLines = 600;

/// Limits lines to kMaxColumns characters, except a line with one unbreakable link, and lines of
/// Markdown, Python and JavaScript.
Problems check_line_length(const SourceFile& file);

/// Forbids tabs and blanks at the end of a line; requires one newline at the end of the file.
Problems check_white_space(const SourceFile& file);

Problems check_file_length(const SourceFile& file);

/// Requires a header to begin with `#pragma once`, a blank line and a comment on its purpose.
Problems check_header_opening(const SourceFile& file);

/// Forbids notes of unfinished work and paths into a user's home (except the placeholder user
/// "me").
Problems check_leftovers(const SourceFile& file);

}  // namespace hocket::style
