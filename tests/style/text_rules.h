#pragma once

// Rules about the text of one file (docs/STYLE.md). Pure functions.

#include "tests/style/source_tree.h"

namespace hocket::style {

inline constexpr std::size_t kMaxColumns = 100;
inline constexpr std::size_t kMaxLines = 600;

/// Lines of at most kMaxColumns characters; a line that holds one unbreakable link may be longer,
/// and so may lines of Markdown.
Problems check_line_length(const SourceFile& file);

/// No tabs, no blanks at the end of a line, one newline at the end of the file.
Problems check_white_space(const SourceFile& file);

Problems check_file_length(const SourceFile& file);

/// A header begins with `#pragma once`, a blank line and a comment on what it is for.
Problems check_header_opening(const SourceFile& file);

/// No notes of unfinished work, no path into somebody's home (the placeholder user "me" is fine).
Problems check_leftovers(const SourceFile& file);

}  // namespace hocket::style
