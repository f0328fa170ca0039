#pragma once

// The summary that rank 0 prints when the job has trained. Pure, but for the output.

#include <cstdint>
#include <vector>

#include "core/plan/overlap_bound.h"
#include "core/protocol/job_report.h"
#include "job/model/model_options.h"

namespace hocket {

/// The results of a job whose steps have all run.
struct TrainedSummary {
  std::vector<float> losses;  ///< by step
  std::int64_t optimizer_bytes = 0;
  std::uint64_t parameters_hash = 0;
  /// Costs of the overlap bound; empty: it is not known.
  std::vector<LayerCost> layers;
  double explored = 0;  ///< share of the time spent on trying other configurations
};

/// Prints times of iterations, or with --json one object with everything that is known.
void print_summary(const ModelJobOptions& options, const RunReport& report,
                   const TrainedSummary& trained);

}  // namespace hocket
