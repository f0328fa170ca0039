#pragma once

// Names of trace files that a daemon serves, which profiles have in place of a file's path:
// "https://node7:7077/v1/traces/SET/RANK". A trace set has those of one profile. Pure;
// thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

struct TraceUrl {
  std::string daemon;  ///< "https://node7:7077"
  std::string set;     ///< as is_trace_set() has it
  std::int64_t rank = 0;

  /// Returns the text that parse_trace_url() parses.
  std::string text() const;
  bool operator==(const TraceUrl&) const = default;
};

inline constexpr std::size_t kTraceSetDigits = 32;

/// Returns whether `text` names a set: 32 lower-case hexadecimal digits.
bool is_trace_set(std::string_view text);

/// Returns the number of a rank, in digits alone.
std::optional<std::int64_t> parse_trace_rank(std::string_view text);

/// Returns the parts of a trace's URL; nothing for any other text, such as a path.
std::optional<TraceUrl> parse_trace_url(std::string_view text);

}  // namespace hocket
