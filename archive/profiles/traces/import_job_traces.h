#pragma once

// Imports the traces that the ranks of a running job recorded. Not thread-safe.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"
#include "store/store.h"

namespace hocket {

/// Traces that the ranks of a running job recorded of the same steps.
struct JobTraces {
  /// One file for each rank, in the order of ranks; empty for a rank without. JSON trace events or
  /// an SQLite file as import_profile() takes them, not packed.
  std::vector<std::string> paths;
  Topology topology;
  Workload workload;
  ScheduleConfig config;  ///< the configuration in these steps
};

/// Imports the traces of a job as a profile of it. A file that is no trace of one rank leaves its
/// rank without a trace, with the reason. Where the configuration has a knob's default, the profile
/// has what the trace shows, because a job that hocket does not schedule has no such knob. Returns
/// an error if there is no trace, or the profile cannot be saved.
Result<ProfileRow> import_job_traces(Store& store, const std::string& store_path,
                                     const JobTraces& job);

}  // namespace hocket
