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

class LineMatcher {
 public:
  static constexpr std::size_t kLineLimitBytes = 4096;
  static constexpr std::size_t kPatternLimitBytes = 1000;

  /// Compiles a pattern in RE2's syntax with at least one group. invalid_argument names what is
  /// wrong and where; look-around and back-references are refused, because no matcher of linear
  /// time has them.
  static Result<LineMatcher> make(const std::string& pattern);

  LineMatcher(LineMatcher&&) noexcept;
  ~LineMatcher();

  /// Returns the text of the first group for every match in every line of `text`, in order; empty
  /// text for a group that took no part in its match. Lines end at \n or \r and are cut at
  /// kLineLimitBytes.
  std::vector<std::string> first_groups(std::string_view text) const;

 private:
  struct Pattern;
  explicit LineMatcher(std::unique_ptr<Pattern> pattern);
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace hocket
