#pragma once

// Computes metrics of a job's collectives over all ranks: arrival skew, waiting time and bandwidth.
// Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/metrics/iteration_windows.h"
#include "profiler/metrics/metrics.h"

namespace hocket {

struct CollectiveFigures {
  std::vector<CollectiveMetrics> collectives;  ///< as in JobMetrics
  /// Sum of transfers of the collectives that the reference rank began in each window. One entry
  /// for each window, without a value if a collective of it is not in the traces of all ranks;
  /// empty if transfers are withheld.
  std::vector<std::optional<double>> transfer_ns;
  std::vector<std::string> withheld;
};

/// Measures all collectives of a job. Requires that `reference` is reference_index(traces) and
/// `windows` are that trace's windows.
CollectiveFigures measure_collectives(std::span<const RankTrace> traces,
                                      std::span<const ClockFit> fits, std::size_t reference,
                                      std::span<const StepWindow> windows);

}  // namespace hocket
