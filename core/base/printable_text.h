#pragma once

// Sanitises the text of other programs for messages and JSON. Pure functions; thread-safe.

#include <string>
#include <string_view>

namespace hocket {

/// Returns at most `limit_bytes` of `text` (the last ones if `keep_end`) as valid UTF-8: control
/// characters become spaces, invalid bytes become replacement characters.
std::string printable(std::string_view text, std::size_t limit_bytes, bool keep_end = false);

/// Returns the last `lines` non-empty lines of `text`, printable, joined by " | ".
std::string last_lines(std::string_view text, std::size_t lines, std::size_t limit_bytes);

}  // namespace hocket
