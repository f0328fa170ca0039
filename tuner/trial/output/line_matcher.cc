#include "tuner/trial/output/line_matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "tuner/trial/output/group_bounds.h"
#include "tuner/trial/output/output_lines.h"

namespace hocket {
namespace {

/// Memory for the compiled pattern and for the states that matching adds. When states need more,
/// RE2 forgets some or matches without them, still in linear time.
constexpr std::int64_t kMatcherMemoryBytes = 4 << 20;

RE2::Options options() {
  RE2::Options result(RE2::Latin1);  // every byte is a character
  result.set_log_errors(false);
  result.set_max_mem(kMatcherMemoryBytes);
  return result;
}

/// Returns where `part` stands in `pattern` as syntax: neither inside a class nor behind a
/// backslash.
std::optional<std::size_t> position_of(std::string_view part, std::string_view pattern) {
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (!in_class && pattern.substr(at).starts_with(part)) return at;
    if (pattern[at] == '\\') {
      ++at;
    } else if (pattern[at] == '[' && !in_class) {
      in_class = true;
      if (pattern.substr(at + 1).starts_with("^")) ++at;
      if (pattern.substr(at + 1).starts_with("]")) ++at;  // stands for itself there
    } else if (pattern[at] == ']') {
      in_class = false;
    }
  }
  return std::nullopt;
}

bool is_look_around(std::string_view text) {
  return text.starts_with("(?=") || text.starts_with("(?!") || text.starts_with("(?<=") ||
         text.starts_with("(?<!");
}

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '#';
}

bool may_have_nan(std::string_view line) {
  return line.find_first_of("nN") != std::string_view::npos;
}

/// Returns the length of the nan or infinity that stands at `at` as a word, else 0.
std::size_t nan_length(std::string_view line, std::size_t at) {
  if (at > 0 && is_word_char(line[at - 1])) return 0;
  for (const std::string_view name : {"infinity", "-infinity", "nan", "-nan", "inf", "-inf"}) {
    if (line.size() - at < name.size()) continue;
    const auto equals = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == b;
    };
    if (!std::ranges::equal(line.substr(at, name.size()), name, equals)) continue;
    const std::size_t end = at + name.size();
    if (end == line.size() || !is_word_char(line[end])) return name.size();
  }
  return 0;
}

/// A nan or an infinity that was replaced.
struct ReplacedNan {
  std::size_t at;  ///< in the replaced line
  std::string text;
};

/// Returns `line` with "0" for each nan and infinity.
std::string without_nans(std::string_view line, std::vector<ReplacedNan>& nans) {
  std::string replaced;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t length = nan_length(line, at);
    if (length > 0) nans.push_back({replaced.size(), std::string(line.substr(at, length))});
    replaced += length > 0 ? '0' : line[at];
    at += std::max<std::size_t>(length, 1);
  }
  return replaced;
}

bool is_back_reference(std::string_view text) {
  return text.size() > 1 && text[0] == '\\' &&
         (text[1] == 'k' || (text[1] > '0' && text[1] <= '9'));
}

Error refused(const std::string& pattern, const RE2& compiled) {
  const auto at = position_of(compiled.error_arg(), pattern);
  const std::string_view found = at ? std::string_view(pattern).substr(*at) : std::string_view();
  std::string why = compiled.error();
  if (is_look_around(found) || is_back_reference(found)) {
    why = (is_look_around(found) ? "look-around" : "a back-reference") +
          (" (" + compiled.error_arg()) +
          ") is not supported, because matching takes linear time; match what stands around the "
          "number instead";
  }
  return {ErrorCode::invalid_argument, "\"" + pattern + "\" is not a regular expression: " + why +
                                           (at ? ", at character " + std::to_string(*at + 1) : "")};
}

}  // namespace

struct LineMatcher::Pattern {
  explicit Pattern(const std::string& text) : compiled(text, options()), around(text) {}

  /// Matches the bytes of `line` from `begin` to `end`; words may reach beyond.
  void match_range(std::string_view line, std::size_t begin, std::size_t end,
                   std::span<const ReplacedNan> nans, std::vector<LineMatch>& found) const;
  void match_line(std::string_view line, std::vector<LineMatch>& found) const;

  RE2 compiled;
  GroupBounds around;
};

void LineMatcher::Pattern::match_range(std::string_view line, std::size_t begin, std::size_t end,
                                       std::span<const ReplacedNan> nans,
                                       std::vector<LineMatch>& found) const {
  const re2::StringPiece text(line.data(), line.size());
  re2::StringPiece groups[2];
  for (std::size_t from = begin;
       from <= end && compiled.Match(text, from, end, RE2::UNANCHORED, groups, 2);) {
    const auto match_end = static_cast<std::size_t>(groups[0].end() - text.begin());
    from = groups[0].empty() ? match_end + 1 : match_end;
    if (!groups[1].data()) {
      found.emplace_back();
      continue;
    }
    const auto at = static_cast<std::size_t>(groups[1].begin() - text.begin());
    const auto nan = std::ranges::find(nans, at, &ReplacedNan::at);
    if (nan != nans.end() && groups[1].size() == 1) {
      found.push_back({.group = nan->text, .word = nan->text, .next_word = {}});
      continue;
    }
    std::size_t word_end = 0;
    found.push_back(around.match_at(line, at, groups[1].size(), match_end, word_end));
    from = std::max(from, word_end);
  }
}

void LineMatcher::Pattern::match_line(std::string_view line, std::vector<LineMatch>& found) const {
  // A pattern for numbers passes over a nan, so it is tried with a digit in that place; where
  // nothing stands before the number in the pattern, any nan would be one.
  std::vector<ReplacedNan> nans;
  std::string replaced;
  if (around.names_place() && may_have_nan(line)) {
    replaced = without_nans(line, nans);
    if (!nans.empty()) line = replaced;
  }
  if (line.size() <= 2 * kLineEndBytes) return match_range(line, 0, line.size(), nans, found);
  match_range(line, 0, kLineEndBytes, nans, found);
  match_range(line, line.size() - kLineEndBytes, line.size(), nans, found);
}

LineMatcher::LineMatcher(std::unique_ptr<Pattern> pattern) : pattern_(std::move(pattern)) {}
LineMatcher::LineMatcher(LineMatcher&&) noexcept = default;
LineMatcher::~LineMatcher() = default;

Result<LineMatcher> LineMatcher::make(const std::string& pattern) {
  if (pattern.size() > kPatternLimitBytes) {
    return failure(ErrorCode::invalid_argument,
                   "the regular expression has " + std::to_string(pattern.size()) +
                       " bytes; at most " + std::to_string(kPatternLimitBytes) + " are allowed");
  }
  auto made = std::make_unique<Pattern>(pattern);
  if (!made->compiled.ok()) return failure(refused(pattern, made->compiled));
  if (made->compiled.NumberOfCapturingGroups() == 0) {
    return failure(ErrorCode::invalid_argument,
                   "the regular expression \"" + pattern +
                       "\" has no group; put the number into parentheses, as in "
                       "step_ms=([0-9.]+)");
  }
  return LineMatcher(std::move(made));
}

std::vector<LineMatch> LineMatcher::matches(std::string_view text) const {
  std::vector<LineMatch> found;
  OutputLines lines(text);
  while (lines.next()) pattern_->match_line(lines.line(), found);
  return found;
}

}  // namespace hocket
