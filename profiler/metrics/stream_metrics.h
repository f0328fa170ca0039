#pragma once

// What the streams and channels of one rank did in its windows: how busy each was, why it stood
// still, and how long work took from its submission to its start. Pure.

#include <optional>
#include <span>
#include <vector>

#include "core/base/intervals.h"
#include "core/trace/rank_trace.h"
#include "profiler/metrics/metrics.h"

namespace hocket {

/// Below this a gap between two records of a stream is the switch from one to the other, even where
/// it is not known when the second was ready (Holistic Trace Analysis, idle time breakdown).
inline constexpr std::int64_t kConsecutiveKernelsNs = 30;

struct StreamFigures {
  std::vector<StreamMetrics> streams;  ///< by kind and lane
  std::optional<LaunchLatency> launch;
};

/// `measured` is the time that counts, a union.
StreamFigures measure_streams(std::span<const TraceRecord> records,
                              const std::vector<Interval>& measured);

}  // namespace hocket
