#include "cli/output/columns.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hocket {
namespace {

struct Range {
  std::uint32_t first, last;
};

// Combining marks and zero-width characters of Unicode, as far as they occur in names.
constexpr std::array kNone = {Range{0x300, 0x36f}, Range{0x200b, 0x200f}, Range{0x20d0, 0x20ff},
                              Range{0xfe00, 0xfe0f}};
// Characters of East Asian Width W and F (UAX #11), and pictographs.
constexpr std::array kWide = {
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0x4dbf},
    Range{0x4e00, 0xa4cf},   Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},
    Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},
    Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff},
    Range{0x20000, 0x3fffd}};

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

template <class Ranges>
bool is_in(const Ranges& ranges, std::uint32_t code) {
  return std::ranges::any_of(ranges,
                             [code](const Range& r) { return r.first <= code && code <= r.last; });
}

/// Returns the first character of `text`. Requires a non-empty text.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t bytes = byte(0) < 0xc0 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (bytes == 1 || bytes > text.size()) return {};
  std::uint32_t code = byte(0) & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (byte(i) & 0x3fu);
  return {bytes, is_in(kNone, code) ? 0u : is_in(kWide, code) ? 2u : 1u};
}

/// Returns the number of bytes of the longest prefix of `text` that takes at most `columns`.
std::size_t beginning(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character next = first_of(text.substr(at));
    if (next.columns > columns) break;
    columns -= next.columns;
    at += next.bytes;
  }
  return at;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  return std::string(text.substr(0, beginning(text, columns - 1))) + "…";
}

std::string spaces_beside(const std::string& text, std::size_t columns) {
  return std::string(columns - columns_of(text), ' ');
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string fitted(std::string_view text, std::size_t columns) {
  const std::string shown = cut(text, columns);
  return shown + spaces_beside(shown, columns);
}

std::string fitted_right(std::string_view text, std::size_t columns) {
  const std::string shown = cut(text, columns);
  return spaces_beside(shown, columns) + shown;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  std::string line = fitted(text, columns);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace hocket
