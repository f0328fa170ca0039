#pragma once

// Text of other programs made fit for messages and JSON. Pure function; thread-safe.

#include <string>
#include <string_view>

namespace hocket {

/// At most `limit_bytes` of `text`, its end when `keep_end`, in valid UTF-8 without control
/// characters: what is not so becomes spaces and replacement characters.
std::string printable(std::string_view text, std::size_t limit_bytes, bool keep_end = false);

/// The last `lines` non-empty lines of `text`, printable, joined by " | ".
std::string last_lines(std::string_view text, std::size_t lines, std::size_t limit_bytes);

}  // namespace hocket
