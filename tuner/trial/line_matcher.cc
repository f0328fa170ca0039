#include "tuner/trial/line_matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

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
  explicit Pattern(const std::string& text) : compiled(text, options()) {}
  RE2 compiled;
};

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

std::vector<std::string> LineMatcher::first_groups(std::string_view text) const {
  std::vector<std::string> found;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("\r\n"), text.size());
    const re2::StringPiece line(text.data(), std::min(end, kLineLimitBytes));
    re2::StringPiece groups[2];
    for (std::size_t from = 0;
         from <= line.size() &&
         pattern_->compiled.Match(line, from, line.size(), RE2::UNANCHORED, groups, 2);) {
      found.emplace_back(groups[1].data() ? std::string(groups[1]) : std::string());
      const auto match_end = static_cast<std::size_t>(groups[0].end() - line.begin());
      from = groups[0].empty() ? match_end + 1 : match_end;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

}  // namespace hocket
