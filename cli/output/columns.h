#pragma once

// Text measured in terminal columns: UTF-8 characters are never cut; wide ones take two columns,
// combining ones none. Pure functions; thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

namespace hocket {

/// Returns the columns that `text` takes. Requires valid UTF-8 without control characters.
std::size_t columns_of(std::string_view text);

/// Returns `text` in exactly `columns`: padded with spaces, or cut with "…" at the end.
std::string fitted(std::string_view text, std::size_t columns);
/// Like fitted(), with the padding in front.
std::string fitted_right(std::string_view text, std::size_t columns);
/// Returns `text` in at most `columns`, without spaces at its end.
std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace hocket
