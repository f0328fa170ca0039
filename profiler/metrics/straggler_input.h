#pragma once

// Derives from the traces of a job's ranks what each of them did in each step, and who came when to
// each collective: the input of profiler/metrics/stragglers.h.
//
// Messages are left out. The stages of a pipeline wait in receives while it fills and drains,
// however fast they are, so that who sends late is no evidence. For the same reason collectives are
// left out that join two ranks between which messages go, also by way of others: the first stage is
// the last to end its backward pass. Where a trace does not tell the two ranks of a message, it may
// be between any of its group, or of the job. Pure.

#include <span>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/metrics/stragglers.h"

namespace hocket {

/// The clock by which arrivals at a collective are compared.
enum class ArrivalClock {
  common,  ///< by the begins, on rank 0's clock
  /// By how long the collective took on each rank's own clock: its members leave it together, so
  /// the one that was in it the shortest came last. Broadcasts are left out.
  own
};

/// Requires one fit for each trace. Only steps of which every trace has the window count. Ranks
/// without a trace are taken to be never late.
StragglerInput straggler_input(std::span<const RankTrace> traces, std::span<const ClockFit> fits,
                               ArrivalClock clock);

}  // namespace hocket
