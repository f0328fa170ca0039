#include "core/base/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace hocket {
namespace {

struct CodeRange {
  char32_t first, last;
};

// Code points of Unicode 15 that is_plain() refuses, in order.
constexpr std::array kHiddenCodes = {
    CodeRange{0x0000, 0x001f},    // C0
    CodeRange{0x007f, 0x009f},    // DEL, C1
    CodeRange{0x00ad, 0x00ad},    // soft hyphen
    CodeRange{0x034f, 0x034f},    // combining grapheme joiner
    CodeRange{0x061c, 0x061c},    // Arabic letter mark
    CodeRange{0x115f, 0x1160},    // Hangul fillers
    CodeRange{0x17b4, 0x17b5},    // Khmer vowels that are not seen
    CodeRange{0x180e, 0x180e},    // Mongolian vowel separator
    CodeRange{0x200b, 0x200f},    // zero width, marks of direction
    CodeRange{0x2028, 0x202e},    // separators of lines and paragraphs, embeddings, overrides
    CodeRange{0x2060, 0x206f},    // word joiner, operators that are not seen, isolates
    CodeRange{0x3164, 0x3164},    // Hangul filler
    CodeRange{0xfeff, 0xfeff},    // byte order mark
    CodeRange{0xffa0, 0xffa0},    // Hangul filler of half width
    CodeRange{0xfff0, 0xfffb},    // annotations
    CodeRange{0x1bca0, 0x1bca3},  // controls of shorthand
    CodeRange{0x1d173, 0x1d17a},  // controls of music
    CodeRange{0xe0000, 0xe00ff},  // tags
};

bool is_blank(char32_t code) {
  return (code >= 0x09 && code <= 0x0d) || code == 0x85 || code == 0x2028 || code == 0x2029;
}

bool is_plain_ascii(char c) {
  return c >= 0x20 && c < 0x7f;
}

/// Returns `text` with what `hidden(bytes, code)` returns for each character that is not plain; an
/// invalid part has no code.
template <class Hidden>
std::string replaced(std::string_view text, Hidden&& hidden) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, is_plain_ascii);
    const auto length = static_cast<std::size_t>(end - text.begin());
    plain.append(text.substr(0, length));
    text.remove_prefix(length);
    if (text.empty()) break;
    const Utf8Character next = first_character(text);
    const std::string_view bytes = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (next.code && is_plain(*next.code)) {
      plain.append(bytes);
    } else {
      plain.append(hidden(bytes, next.code));
    }
  }
  return plain;
}

/// Returns \uXXXX, two of them beyond U+FFFF.
std::string escape(char32_t code) {
  const auto text = [](unsigned unit) {
    char escaped[12];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", unit);
    return std::string(escaped);
  };
  const auto value = static_cast<unsigned>(code);
  if (value < 0x10000) return text(value);
  return text(0xd800 + ((value - 0x10000) >> 10)) + text(0xdc00 + ((value - 0x10000) & 0x3ff));
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, first};
  // The second byte has a narrower range where the form would be overlong, a surrogate or too
  // large.
  const unsigned lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (first < 0xc2 || first > 0xf4) return {};
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  char32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {i, std::nullopt, true};
    const unsigned next = byte(i);
    if (next < (i == 1 ? lowest : 0x80) || next > (i == 1 ? highest : 0xbf)) return {i};
    code = code << 6 | (next & 0x3f);
  }
  return {length, code};
}

bool is_plain(char32_t code) {
  return std::ranges::none_of(kHiddenCodes, [code](const CodeRange& range) {
    return range.first <= code && code <= range.last;
  });
}

std::string plain_line(std::string_view text) {
  return replaced(text, [](std::string_view, const std::optional<char32_t>& code) {
    return code && is_blank(*code) ? std::string_view(" ") : kReplacement;
  });
}

std::string plain_lines(std::string_view text) {
  return replaced(text, [](std::string_view bytes, const std::optional<char32_t>& code) {
    if (code == U'\n' || code == U'\t') return bytes;
    return code && is_blank(*code) ? std::string_view(" ") : kReplacement;
  });
}

std::string plain_json(std::string_view json) {
  return replaced(json, [](std::string_view bytes, const std::optional<char32_t>& code) {
    // Outside strings JSON has no other controls than blanks, and within them it has none.
    const bool is_white = code == U'\n' || code == U'\t' || code == U'\r';
    if (is_white) return std::string(bytes);
    return code ? escape(*code) : std::string(kReplacement);
  });
}

}  // namespace hocket
