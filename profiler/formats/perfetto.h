#pragma once

// Writes traces as Perfetto's own format, https://perfetto.dev/docs/reference/trace-packet-proto:
// a process a rank, a track a stream, channel and host thread, with further tracks where two
// records of one lane overlap; names interned. Times are on rank 0's clock.

#include <iosfwd>
#include <span>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

/// Traces and fits in the same order. unavailable when `out` does not take it.
Result<void> write_perfetto(std::ostream& out, std::span<const RankTrace> traces,
                            std::span<const ClockFit> fits);

}  // namespace hocket
