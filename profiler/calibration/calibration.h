#pragma once

// From a profile to a step description, which the simulator predicts other configurations from.
// Pure.
//
// Compute times are medians over the steps, and their scatter the jitter. What a part costs, alpha
// and beta, is fitted to transfer times (Theil and Sen's robust line, as describe_step() has it):
// to those from the last rank's arrival on where the clocks can be compared, else to those on the
// rank. Parts that shared the link are counted for their share of it. gamma, the slow-down of
// computation beside communication, comes from tasks that ran beside a part in some steps and alone
// in others.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/link.h"
#include "core/step/step_description.h"
#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

struct Calibration {
  /// Of the measured job: as many ranks, and the cost of a part as it was with those.
  StepDescription step;
  /// The links of the tiers that the parts went over, as a ring over all ranks uses them, to
  /// predict other numbers of ranks: within a host, between hosts. Absent where nothing went.
  std::optional<LinkSpec> host_link = {}, network_link = {};
  double measured_iteration_ns = 0;  ///< median |W| of rank 0
  std::int64_t steps = 0;            ///< whole ones that it was fitted to
  /// The smallest and the largest part that the cost of parts was fitted to; 0 when there was none.
  std::int64_t least_part_bytes = 0, most_part_bytes = 0;
  /// For people: what could not be fitted, and what stands in its place.
  std::vector<std::string> notes = {};
};

/// Traces and fits in the same order, of one job. The description is of the lowest rank's step; the
/// other ranks' compute times are its rank_compute_scale. invalid_argument when no step is whole or
/// the records do not fit the structure.
Result<Calibration> calibrate(const StepStructure& structure, std::span<const RankTrace> traces,
                              std::span<const ClockFit> fits);

}  // namespace hocket
