#pragma once

// Text for people and shells: percentages, sizes, dates, text of other programs made printable,
// quoted command lines, trimmed white space. Pure functions; thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// Returns "12.3 %" for 0.1234, "0.12 %" for 0.00123.
std::string percent(double share);

/// Returns "25 MiB" or "4097 B": the number of bytes with the largest unit that leaves a whole one.
/// A command line takes it with "" between number and unit.
std::string size_with_unit(std::int64_t bytes, std::string_view between = " ");

/// Returns 0.03, 0.005, 0.03 for "3%", "0.5 %", "3". invalid_argument for anything else, and
/// outside 0 to `most` percent.
Result<double> parse_percent(std::string_view text, double most = 100);

/// Returns at most `limit_bytes` of plain_line(`text`) (core/base/plain_text.h), the last ones if
/// `keep_end`: text of one line that moves no cursor, forges no line and hides nothing. No
/// character is cut.
std::string printable(std::string_view text, std::size_t limit_bytes, bool keep_end = false);

/// Returns the last `lines` non-empty lines of `text`, printable, joined by " | ".
std::string last_lines(std::string_view text, std::size_t lines, std::size_t limit_bytes);

/// Returns `argument` quoted so that a POSIX shell reads it back unchanged.
std::string shell_quoted(const std::string& argument);

/// Returns the quoted arguments, separated by spaces.
std::string shell_text(std::span<const std::string> arguments);

/// Returns the date of a time since 1970 in UTC: "2026-11-21".
std::string date_text(std::int64_t unix_ns);

/// Returns `text` without surrounding blanks and line ends.
std::string_view trimmed(std::string_view text);

}  // namespace hocket
