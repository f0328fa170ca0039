#include "tuner/trial/output/nearest_lines.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kMostLines = 2'000, kLineBytes = 512, kShownLineBytes = 120,
                      kLiteralBytes = 64;
constexpr std::size_t kShortestLiteral = 3;

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool is_digit_char(char c) {
  return c >= '0' && c <= '9';
}

/// Returns the place behind the class that begins at `at`.
std::size_t end_of_class(std::string_view pattern, std::size_t at) {
  ++at;
  if (pattern.substr(at).starts_with("^")) ++at;
  if (pattern.substr(at).starts_with("]")) ++at;  // stands for itself there
  while (at < pattern.size() && pattern[at] != ']') at += pattern[at] == '\\' ? 2 : 1;
  return at + 1;
}

/// Returns the longest text that stands for itself in `pattern`, in lower case.
std::string longest_literal(std::string_view pattern) {
  std::string longest, current;
  const auto close = [&] {
    if (current.size() > longest.size()) longest = current;
    current.clear();
  };
  for (std::size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '[') {
      close();
      at = end_of_class(pattern, at);
    } else if (c == '\\') {
      const char next = at + 1 < pattern.size() ? pattern[at + 1] : 'b';
      if (std::isalnum(static_cast<unsigned char>(next)) != 0) {
        close();
      } else {
        current += next;
      }
      at += 2;
    } else if (pattern.substr(at).starts_with("(?")) {
      close();
      at = std::min(pattern.find_first_of(":)", at), pattern.size() - 1) + 1;
    } else if (std::string_view("()|^$.*+?{}").find(c) != std::string_view::npos) {
      close();
      at = c == '{' ? std::min(pattern.find('}', at), pattern.size() - 1) + 1 : at + 1;
    } else {
      current += lower(c);
      ++at;
    }
  }
  close();
  return longest.substr(0, kLiteralBytes);
}

/// Returns the least edit distance of `literal` from a part of `line`.
std::size_t distance_within(std::string_view literal, std::string_view line) {
  // Row i holds the distances of the first i characters of `literal` from the parts that end at
  // each place of `line`; a part may begin anywhere for nothing.
  std::vector<std::size_t> row(line.size() + 1, 0);
  for (std::size_t i = 0; i < literal.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < line.size(); ++j) {
      const std::size_t replaced = diagonal + (literal[i] == lower(line[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return *std::ranges::min_element(row);
}

struct NearLine {
  std::size_t distance;
  std::string_view line;
};

}  // namespace

std::vector<std::string> nearest_lines(std::string_view pattern, std::string_view text,
                                       std::size_t count) {
  const std::string literal = longest_literal(pattern);
  if (literal.size() < kShortestLiteral) return {};
  std::vector<NearLine> near;
  std::set<std::string> shapes;
  for (std::size_t seen = 0; !text.empty() && seen < kMostLines;) {
    const auto end = std::min(text.find_first_of("\r\n"), text.size());
    const auto line = trimmed(text.substr(0, std::min(end, kLineBytes)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (std::ranges::none_of(line, is_digit_char)) continue;
    ++seen;
    std::string shape(line);
    std::erase_if(shape, is_digit_char);
    if (!shapes.insert(std::move(shape)).second) continue;
    const std::size_t distance = distance_within(literal, line);
    if (distance <= literal.size() / 3) near.push_back({distance, line});
  }
  std::ranges::stable_sort(near, {}, &NearLine::distance);
  std::vector<std::string> lines;
  for (const NearLine& each : near) {
    if (lines.size() == count) break;
    lines.push_back(printable(each.line, kShownLineBytes));
  }
  return lines;
}

}  // namespace hocket
