#include "tuner/trial/output/group_bounds.h"

#include <algorithm>
#include <cctype>

namespace hocket {
namespace {

constexpr std::size_t kNextWordLimitBytes = 24, kWordLimitBytes = 80;

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Letters of any alphabet, and what stands between them in units.
bool is_word_byte(char c) {
  return is_alnum(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("#%/_").find(c) != std::string_view::npos;
}

bool is_separator(char c) {
  return std::string_view(",.:'_").find(c) != std::string_view::npos;
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (is_digit_at(text, at + count)) ++count;
  return count;
}

/// Returns the end of the groups of thousands that go on at `at` behind `leading` digits.
std::size_t end_of_thousands(std::string_view text, std::size_t at, std::size_t leading) {
  if (leading == 0 || leading > 3 || text[at - leading] == '0') return at;
  const char separator = at < text.size() ? text[at] : ' ';
  if (std::string_view(",_'").find(separator) == std::string_view::npos) return at;
  std::size_t end = at;
  while (end < text.size() && text[end] == separator && digits_at(text, end + 1) == 3) end += 4;
  return end;
}

}  // namespace

std::size_t number_length(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t leading = digits_at(text, at);
  at = end_of_thousands(text, at + leading, leading);
  const bool has_point = at < text.size() && text[at] == '.';
  const std::size_t fraction = has_point ? digits_at(text, at + 1) : 0;
  if (leading + fraction == 0) return 0;
  if (has_point) at += 1 + fraction;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t digits = at + 1;
    if (digits < text.size() && (text[digits] == '-' || text[digits] == '+')) ++digits;
    if (const std::size_t count = digits_at(text, digits); count > 0) at = digits + count;
  }
  return at;
}

GroupBounds::GroupBounds(std::string_view pattern) {
  std::size_t open = std::string_view::npos, depth = 0;
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
      if (pattern.substr(at + 1).starts_with("^")) ++at;
      if (pattern.substr(at + 1).starts_with("]")) ++at;  // stands for itself there
    } else if (c == '(' && open != std::string_view::npos) {
      ++depth;
    } else if (c == '(') {
      const auto inside = pattern.substr(at + 1);
      if (!inside.starts_with("?") || inside.starts_with("?P<")) open = at;
    } else if (c == ')' && open != std::string_view::npos && depth-- == 0) {
      before_ = pattern.substr(0, open);
      behind_ = pattern.substr(at + 1);
      return;
    }
  }
}

bool GroupBounds::is_followed_by(char c) const {
  if (behind_.empty()) return false;
  if (behind_[0] == '\\') return behind_.size() > 1 && behind_[1] == c && !is_alnum(c);
  constexpr std::string_view kSyntax = ".[](){}|*+?^$";
  return kSyntax.find(behind_[0]) == std::string_view::npos && behind_[0] == c;
}

bool GroupBounds::names_what_follows() const {
  if (behind_.starts_with('[')) return !behind_.starts_with("[^");
  if (!behind_.starts_with('(')) return false;
  const std::string_view inside = std::string_view(behind_).substr(1);
  return !inside.starts_with('.') && !inside.starts_with("?:.");
}

std::size_t GroupBounds::word_begin(std::string_view line, std::size_t at) const {
  const auto names = [&](char c) { return !before_.empty() && before_.back() == c; };
  std::size_t begin = at;
  while (begin > 0 && at - begin < kWordLimitBytes) {
    const char c = line[begin - 1];
    const bool is_part = is_digit_at(line, begin - 1) ||
                         (is_separator(c) && begin > 1 && is_digit_at(line, begin - 2));
    if (!is_part || (begin == at && names(c))) break;
    --begin;
  }
  const bool is_signed = begin > 0 && line[begin - 1] == '-' && !(begin == at && names('-')) &&
                         (begin == 1 || (!is_word_byte(line[begin - 2]) && line[begin - 2] != '-'));
  return is_signed ? begin - 1 : begin;
}

LineMatch GroupBounds::match_at(std::string_view line, std::size_t at, std::size_t size,
                                std::size_t match_end, std::size_t& word_end) const {
  const std::string group(line.substr(at, size));
  const std::size_t end = at + size;
  word_end = end;
  LineMatch match{.group = group, .word = group, .next_word = {}};
  if (number_length(group) == 0) return match;
  const std::size_t begin = is_digit_at(line, at) || line[at] == '.' ? word_begin(line, at) : at;
  const bool is_literal = end < line.size() && match_end > end && is_followed_by(line[end]);
  match.is_bounded = is_literal || (match_end > end && names_what_follows());
  if (!match.is_bounded) {
    word_end = std::max(end, at + number_length(line.substr(at)));
    while (word_end + 1 < line.size() && is_separator(line[word_end]) &&
           is_digit_at(line, word_end + 1) && word_end - at < kWordLimitBytes) {
      ++word_end;
      word_end += digits_at(line, word_end);
    }
  }
  if (!is_literal) {
    while (word_end < line.size() && is_word_byte(line[word_end]) &&
           word_end - at < kWordLimitBytes)
      ++word_end;
  }
  match.word = line.substr(begin, word_end - begin);
  match.begins_before = begin < at;
  if (word_end + 1 < line.size() && line[word_end] == ' ') {
    std::size_t next_end = word_end + 1;
    while (next_end < line.size() && is_word_byte(line[next_end])) ++next_end;
    const bool names_a_value =
        next_end < line.size() && (line[next_end] == '=' || line[next_end] == ':');
    if (next_end - word_end <= kNextWordLimitBytes && !names_a_value)
      match.next_word = line.substr(word_end + 1, next_end - word_end - 1);
  }
  return match;
}

}  // namespace hocket
