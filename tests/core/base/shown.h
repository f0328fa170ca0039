#pragma once

// Characters that must not be shown, written out apart from the code that removes them
// (core/base/plain_text.h), and what of a text they are.

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace hocket {

inline constexpr std::array<std::string_view, 24> kHostileCharacters = {"\x1b[2J",
                                                                        "\a",
                                                                        "\b",
                                                                        "\r",
                                                                        "\n",
                                                                        "\x7f",
                                                                        "\xc2\x9b"
                                                                        "31m",
                                                                        "\xc2\x85",
                                                                        "\xc2\x80",
                                                                        "\xe2\x80\xa8",
                                                                        "\xe2\x80\xa9",
                                                                        "\xe2\x80\xae",
                                                                        "\xe2\x80\xaa",
                                                                        "\xe2\x81\xa6",
                                                                        "\xe2\x81\xa9",
                                                                        "\xe2\x80\x8e",
                                                                        "\xe2\x80\x8f",
                                                                        "\xd8\x9c",
                                                                        "\xe2\x80\x8b",
                                                                        "\xef\xbb\xbf",
                                                                        "\xff",
                                                                        "\xc0\x9b",
                                                                        "\xed\xa0\x80",
                                                                        "\xe2\x80"};

/// Returns the first thing in `text`, with its place, that a terminal must not get: a control but
/// newline and tab, a character that turns or hides text, a separator of lines, or what is not
/// UTF-8. Empty if there is none.
inline std::string what_is_not_plain(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto found = [](std::size_t at, unsigned code, const char* what) {
    char line[80];
    std::snprintf(line, sizeof line, "%s U+%04X at byte %zu", what, code, at);
    return std::string(line);
  };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    if (first < 0x80) {
      if ((first < 0x20 && first != '\n' && first != '\t') || first == 0x7f)
        return found(i, first, "control");
      ++i;
      continue;
    }
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    unsigned code = first & (0xffu >> (length + 1));
    if (first < 0xc2 || first > 0xf4) return found(i, first, "no UTF-8");
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0u) != 0x80) return found(i, first, "no UTF-8");
      code = code << 6 | (byte(i + k) & 0x3fu);
    }
    const unsigned least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return found(i, code, "no UTF-8");
    if (code < 0xa0) return found(i, code, "control");
    if (code == 0x61c || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
        (code >= 0x2060 && code <= 0x2069) || code == 0xfeff) {
      return found(i, code, "hidden");
    }
    i += length;
  }
  return {};
}

}  // namespace hocket
