#pragma once

// Matches regular expressions against untrusted program output with RE2, whose time for one match
// is linear in the line and whose memory is bounded. Text and pattern are bytes: output need not be
// UTF-8. Thread-compatible.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// A match, and what stands around it in its line.
struct LineMatch {
  std::string group;  ///< text of the first group; empty if it took no part in the match
  /// The group with the rest of the number or word of which it is a part. Equals the group if that
  /// does not begin like a number, or if the pattern names the character that follows.
  std::string word;
  std::string next_word;       ///< what follows the word behind one blank, where it has letters
  bool begins_before = false;  ///< the word begins before the group
  /// The pattern says what follows the group, if not literally.
  bool is_bounded = false;

  bool operator==(const LineMatch&) const = default;
};

class LineMatcher {
 public:
  /// Bytes that are searched at the beginning, and at the end, of a line of more than twice as
  /// many.
  static constexpr std::size_t kLineEndBytes = 8192;
  static constexpr std::size_t kPatternLimitBytes = 1000;

  /// Compiles a pattern in RE2's syntax with at least one group. invalid_argument names what is
  /// wrong and where; look-around and back-references are refused, because no matcher of linear
  /// time has them.
  static Result<LineMatcher> make(const std::string& pattern);

  LineMatcher(LineMatcher&&) noexcept;
  ~LineMatcher();

  /// Returns every match in every line of `text`, in order. Lines end where
  /// tuner/trial/output/output_lines.h says. A "nan" or "inf" where the pattern would take a number
  /// is a match, too, if something stands before it in the pattern.
  std::vector<LineMatch> matches(std::string_view text) const;

 private:
  struct Pattern;
  explicit LineMatcher(std::unique_ptr<Pattern> pattern);
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace hocket
