#pragma once

// The characters of a text that may be shown: UTF-8, decoded strictly, without the characters that
// move a cursor, start an escape sequence, end a line, change the direction of what follows, or are
// not seen at all. Text of others reaches terminals, logs and files for people through printable()
// (core/base/text.h) or plain_lines(), which are made of this. Pure functions; thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

/// Shown in place of a character that is not (U+FFFD).
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// The character at the beginning of a text.
struct Utf8Character {
  std::size_t bytes = 1;
  /// Absent where the bytes are not UTF-8: overlong forms, surrogates, beyond U+10FFFF, cut.
  std::optional<char32_t> code = {};
  bool is_cut = false;  ///< the text ends within a character that is valid so far
};

/// Requires a text that is not empty. Of bytes that are not UTF-8 it takes as many as Unicode's
/// replacement by U+FFFD does ("maximal subparts").
Utf8Character first_character(std::string_view text);

/// Returns whether a character may be shown as it is. None of these may: controls of ASCII and of
/// Latin-1 (C0, C1, DEL), line and paragraph separators, marks that change the direction of text,
/// characters without width that join or hide text, tags, and fillers that look like nothing.
/// Combining marks and variation selectors may, since languages and pictographs need them.
bool is_plain(char32_t code);

/// Returns `text` with each character that is not plain replaced by a space, if it is a blank or
/// ends a line, else by kReplacement; and with each invalid part replaced by kReplacement.
std::string plain_line(std::string_view text);

/// The same, but newlines and tabs stay.
std::string plain_lines(std::string_view text);

/// Returns JSON with the characters of its strings that are not plain written as \uXXXX, so that it
/// is the same JSON and may be shown. Requires JSON, in UTF-8.
std::string plain_json(std::string_view json);

}  // namespace hocket
