#pragma once

// Trims white space. Pure; thread-safe.

#include <string_view>

namespace hocket {

/// Returns `text` without surrounding blanks and line ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace hocket
