#pragma once

// The collectives of a job over all its ranks: who came last, who waited, how fast data went. Pure.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/metrics/iteration_windows.h"
#include "profiler/metrics/metrics.h"

namespace hocket {

struct CollectiveFigures {
  std::vector<CollectiveMetrics> collectives;  ///< as JobMetrics has them
  /// Of the collectives that the reference rank began in each window the sum of transfers; one a
  /// window, or none at all when they are withheld.
  std::vector<double> transfer_ns;
  std::vector<std::string> withheld;
};

/// `reference` is reference_index(traces), `windows` are its windows.
CollectiveFigures measure_collectives(std::span<const RankTrace> traces,
                                      std::span<const ClockFit> fits, std::size_t reference,
                                      std::span<const StepWindow> windows);

}  // namespace hocket
