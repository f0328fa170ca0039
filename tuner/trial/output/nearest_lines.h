#pragma once

// Lines of output that a pattern nearly fits, for the message that it matched none: what stands in
// the pattern for itself is compared with each line. Pure; thread-safe.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// Returns up to `count` lines of `text`, printable, the nearest first: lines with a digit that
/// hold the longest text that stands for itself in `pattern`, a regular expression, with at most a
/// third of its characters wrong, whatever their case. Of lines that differ in their digits only,
/// the first is returned. Looks at the first 2,000 lines with a digit and 512 bytes of each.
std::vector<std::string> nearest_lines(std::string_view pattern, std::string_view text,
                                       std::size_t count);

}  // namespace hocket
