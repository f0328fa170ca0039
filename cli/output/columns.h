#pragma once

// Text in columns of a terminal: characters of UTF-8 are never cut, wide ones take two columns and
// combining ones none. Pure functions; thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

namespace hocket {

/// Columns that valid UTF-8 without control characters takes.
std::size_t columns_of(std::string_view text);

/// Exactly `columns` of it: filled up with spaces, or cut with "…" at its end.
std::string fitted(std::string_view text, std::size_t columns);
/// As fitted(), with the spaces before it.
std::string fitted_right(std::string_view text, std::size_t columns);

}  // namespace hocket
