#pragma once

// Fits a step description to a profile; the simulator predicts other configurations from it. Pure.
//
// Compute times are medians over the steps; their scatter becomes the jitter. The cost of a part,
// alpha and beta, is fitted to transfer times with Theil and Sen's robust line, as in
// describe_step(). Where clocks can be compared, a transfer counts from the last rank's arrival;
// otherwise it is the duration on the rank. Parts that shared the link count with their share of
// it. Of a placed step the description is that of the step that was placed, with times of updates
// and copies as in describe_step(). gamma, the slow-down of computation beside communication, is
// that of profiler/calibration/contention.h.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/step/link.h"
#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

struct Calibration {
  /// The measured job's step, with its number of ranks and the cost of a part among them.
  StepDescription step;
  /// Links of the tiers that the parts went over, within a host and between hosts, as a ring over
  /// all ranks uses them. They predict other numbers of ranks. Absent for a tier without traffic.
  std::optional<LinkSpec> host_link = {}, network_link = {};
  double measured_iteration_ns = 0;  ///< median |W| of rank 0
  std::int64_t steps = 0;            ///< number of whole steps in the fit
  /// Smallest and largest part in the fit of the part cost; 0 if there was none.
  std::int64_t least_part_bytes = 0, most_part_bytes = 0;
  /// Collectives of a step whose bytes are not known, and their share of the time of all.
  std::int64_t unknown_collectives = 0;
  double unknown_share = 0;
  /// Messages for people: what could not be fitted and the value used instead.
  std::vector<std::string> notes = {};
};

/// Calibrates one job's traces; `fits` are in the same order. The description is that of the lowest
/// rank's step; the other ranks' compute times become its rank_compute_scale. Returns
/// invalid_argument if no step is whole or the records do not match the structure.
Result<Calibration> calibrate(const StepStructure& structure, std::span<const RankTrace> traces,
                              std::span<const ClockFit> fits);

}  // namespace hocket
