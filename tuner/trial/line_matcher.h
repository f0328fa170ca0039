#pragma once

// Matches regular expressions against untrusted program output, with bounded time and stack.
// Thread-compatible.

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

  /// Compiles an ECMAScript pattern with at least one group.
  static Result<LineMatcher> make(const std::string& pattern);

  LineMatcher(LineMatcher&&) noexcept;
  ~LineMatcher();

  /// Returns the text of the first group for every match in every line of `text`, in order. Lines
  /// end at \n or \r and are cut at kLineLimitBytes. The library's matcher may take exponentially
  /// many steps and recurses at least once per character; both are limited, and invalid_argument
  /// reports an exceeded limit.
  Result<std::vector<std::string>> first_groups(std::string_view text) const;

 private:
  struct Pattern;
  explicit LineMatcher(std::unique_ptr<Pattern> pattern);
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace hocket
