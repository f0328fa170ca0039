#pragma once

// The output of a trial's command, as far as it is kept: the beginning and the end of each stream.
// A plain value.

#include <cstddef>
#include <string>

namespace hocket {

/// Most bytes kept of each stream, without the line that says how much was left out.
inline constexpr std::size_t kTrialOutputLimitBytes = 32 << 10;

struct TrialOutput {
  std::string stdout_text = {}, stderr_text = {};  ///< any bytes

  bool is_empty() const { return stdout_text.empty() && stderr_text.empty(); }

  bool operator==(const TrialOutput&) const = default;
};

}  // namespace hocket
