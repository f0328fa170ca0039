#pragma once

// Writes traces in Perfetto's own format, https://perfetto.dev/docs/reference/trace-packet-proto: a
// process for each rank; a track for each stream, channel and host thread, and further tracks for
// overlapping records of a lane; a track of exposed communication; and arrows between the parts of
// a collective. Names are interned. Times are on rank 0's clock. Any thread may call it; not
// concurrently on one stream.

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

/// Writes the traces; `fits` are in the same order. Returns messages for people about what the
/// picture lacks; unavailable if `out` fails. Requires traces in order.
Result<std::vector<std::string>> write_perfetto(std::ostream& out,
                                                std::span<const RankTrace> traces,
                                                std::span<const ClockFit> fits);

}  // namespace hocket
