#pragma once

// Finds where a sequence of work begins again, by its names: the iterations of a recording that
// does not mark them. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "core/trace/trace_builder.h"

namespace hocket {

/// A piece of work: what it is, and when.
struct RepeatedItem {
  std::uint32_t name = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// Returns the indices of `items`, which are in the order of their begins, at which a period
/// begins; empty if nothing repeats at least three times. Names and pairs of neighbours that occur
/// once in each period mark it: those are sought whose distances are alike and add up to the whole,
/// and the number of times that those with most of the items occur is the number of periods. So
/// neither a warm-up nor periods with work of their own hide it, as long as most are alike. The
/// period begins at the mark before which nothing runs for the longest time.
///
/// The layers of a model repeat most often, and are no iterations. So if what is left between the
/// periods, other names or a longer pause, comes back after the same number of them each time, that
/// longer period is taken, unless each of the shorter ones begins after a pause that is about as
/// long. Empty if much is left that does not come back, or if work that does not come back is both
/// before the first period and at the end: then the periods may be the layers of a single pass.
/// O(n log n).
std::vector<std::size_t> period_starts(const std::vector<RepeatedItem>& items);

/// Returns steps by the repetition of names on the stream that computes for the longest time; a
/// pause is a time in which no stream works. The end of the last one is unknown, so it only ends
/// the one before it.
std::vector<StepRange> repeated_work(const std::vector<TraceRecord>& records);

}  // namespace hocket
