#pragma once

// What a request asks for: the path and query of an HTTP request target (RFC 9112, section 3.2, in
// origin form), decoded. Pure function; thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct RequestTarget {
  /// "/v1/studies/a%20b" is {"v1", "studies", "a b"}; "/" has none. None is empty, "." or "..", and
  /// a decoded "/" within one stays within it.
  std::vector<std::string> segments;
  /// Names with their values, in their order; no name twice. A "+" is a "+", not a blank.
  std::vector<std::pair<std::string, std::string>> query;

  /// The value of a name in the query.
  std::optional<std::string_view> find(std::string_view name) const;
};

inline constexpr std::size_t kMaxTargetBytes = 4096;

/// Refuses what no client of ours sends and what is read in more than one way: absolute form, bad
/// escapes, control characters and other text that is not UTF-8, empty segments, "." and "..",
/// a fragment, a name twice, more than kMaxTargetBytes.
Result<RequestTarget> parse_request_target(std::string_view target);

}  // namespace hocket
