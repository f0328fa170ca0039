#pragma once

// Regular expressions on the output of programs that nobody vouches for. Thread-compatible.

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

  /// An ECMAScript pattern with at least one group.
  static Result<LineMatcher> make(const std::string& pattern);

  LineMatcher(LineMatcher&&) noexcept;
  ~LineMatcher();

  /// What the first group matched, for every match in every line of `text`, in order; lines end at
  /// \n or \r, and are cut at kLineLimitBytes. The library's matcher may take exponentially many
  /// steps, and recurses once a character or more: both are limited, and invalid_argument when the
  /// limit does not suffice.
  Result<std::vector<std::string>> first_groups(std::string_view text) const;

 private:
  struct Pattern;
  explicit LineMatcher(std::unique_ptr<Pattern> pattern);
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace hocket
