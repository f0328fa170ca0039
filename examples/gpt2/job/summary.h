#pragma once

// The summary that rank 0 prints when the job has trained. Pure, but for the output.

#include <vector>

#include "core/plan/overlap_bound.h"
#include "core/protocol/job_report.h"
#include "examples/gpt2/job/job_options.h"
#include "examples/gpt2/model/model.h"

namespace hocket {

/// Prints times of iterations, or with --json one object with everything that is known. `layers`
/// are the costs of the overlap bound; empty: it is not known. `explored` is the share of the time
/// spent on trying other configurations.
void print_summary(const JobOptions& options, const RunReport& report, const Gpt2& model,
                   const std::vector<LayerCost>& layers, double explored);

}  // namespace hocket
