#pragma once

// Derives from a step description and a configuration everything that a simulation needs. Pure.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/sim/simulation_run.h"

namespace hocket {

/// The tasks of a program, in the general form.
struct ProgramLayout {
  std::vector<std::int64_t> durations_ns;  ///< by task; 0 for collectives
  /// Bytes of copies by task; empty where the step is not placed.
  std::vector<std::int64_t> copied_bytes;
  std::shared_ptr<const CapturedStep> captured;
};

/// The part of a simulation's setup that is the same under every configuration.
struct StepLayout {
  StepDescription step;  ///< in the general form, or with programs
  /// One, unless ranks run different ones.
  std::vector<ProgramLayout> programs;
  std::int64_t device_peak_bytes = 0;  ///< peak in a placed step; 0 for other steps
  std::vector<RankClass> groups;
  /// The communications of each class of ranks; null where all ranks take part in everything.
  std::shared_ptr<const JobFold> fold;
};

/// Prepares `step`, which must be valid. Returns invalid_argument when it has too many tasks to
/// simulate, or when the communications of its ranks do not match (core/programs/job_fold.h).
Result<StepLayout> lay_out(const StepDescription& step);

/// Returns the tasks, costs and ranks of a step under `config`, which must be valid, after
/// partitioning the step as the configuration says, or placing it where its device has limited
/// memory. The caller adds the order of order=static. Returns invalid_argument when the step cannot
/// be partitioned or placed so (core/partitioning/step_partition.h,
/// core/placement/described_placement.h), or when there are too many parts to simulate.
Result<SimulationSetup> simulation_setup(const StepLayout& layout, const ScheduleConfig& config);

}  // namespace hocket
