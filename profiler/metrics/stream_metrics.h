#pragma once

// Measures the streams and channels of one rank in its windows: busy time, causes of idle time, and
// the latency from submission to start. Pure.

#include <optional>
#include <span>
#include <vector>

#include "core/base/intervals.h"
#include "core/trace/rank_trace.h"
#include "profiler/metrics/metrics.h"

namespace hocket {

/// Gaps between two records of a stream below this length count as the switch between them, even if
/// the second one's ready time is unknown (Holistic Trace Analysis, idle time breakdown).
inline constexpr std::int64_t kConsecutiveKernelsNs = 30;

struct StreamFigures {
  std::vector<StreamMetrics> streams;  ///< by kind and lane
  std::optional<LaunchLatency> launch;
};

/// Measures all streams. `measured` is the time that counts, a union.
StreamFigures measure_streams(std::span<const TraceRecord> records,
                              const std::vector<Interval>& measured);

}  // namespace hocket
