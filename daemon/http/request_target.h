#pragma once

// Decodes an HTTP request target in origin form (RFC 9112, section 3.2): path and query. Pure
// function; thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct RequestTarget {
  /// "/v1/studies/a%20b" gives {"v1", "studies", "a b"}; "/" gives none. No segment is empty, "."
  /// or "..". A decoded "/" does not split a segment.
  std::vector<std::string> segments;
  /// Names and values in the order of the query; names are unique. "+" is not decoded as a space.
  std::vector<std::pair<std::string, std::string>> query;

  /// Returns the value of a name in the query.
  std::optional<std::string_view> find(std::string_view name) const;
};

inline constexpr std::size_t kMaxTargetBytes = 4096;

/// Rejects targets that hocket's clients do not send and that are ambiguous: absolute form, invalid
/// escapes, control characters, text that is not UTF-8, empty segments, "." and "..", a fragment, a
/// repeated name, more than kMaxTargetBytes.
Result<RequestTarget> parse_request_target(std::string_view target);

}  // namespace hocket
