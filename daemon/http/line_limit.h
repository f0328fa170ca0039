#pragma once

// Bounds the lines of a log that clients cause, such as those of refusals, so that nobody can fill
// the disk: of one cause kLinesOfACause are written and then one in ten minutes, and of all causes
// together kLinesOfAllCauses and then one in ten minutes. The next line that is written tells how
// many were not. For one thread; time is an argument.

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/http/rate_limit.h"

namespace hocket {

inline constexpr int kLinesOfACause = 3;
inline constexpr int kLinesOfAllCauses = 100;
inline constexpr double kFurtherLinesPerSecond = 1.0 / 600;

class LineLimit {
 public:
  /// Returns how many lines were left out since the last one, or nothing if this one is to be left
  /// out as well. `cause` is who caused it and how: the client's address and the reason. Requires
  /// that `now_ns` never decreases.
  std::optional<std::int64_t> allow(const std::string& cause, std::int64_t now_ns);

 private:
  static constexpr std::size_t kMaxCauses = 1000;

  RateLimit<std::string> each_{kFurtherLinesPerSecond, kLinesOfACause, kMaxCauses};
  RateLimit<int> all_{kFurtherLinesPerSecond, kLinesOfAllCauses, 1};
  std::int64_t left_out_ = 0;
};

}  // namespace hocket
