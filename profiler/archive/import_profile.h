#pragma once

// Imports traces of other tools as a profile: metrics, bound and predictions for jobs that do not
// use hocket. Not thread-safe.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "core/step/schedule_config.h"
#include "store/store.h"

namespace hocket {

struct ImportRequest {
  /// Timelines in the JSON trace event format (PyTorch's profiler, hocket), SQLite exports of
  /// Nsight Systems, or hocket's own trace files of a rank. Each file has one rank or several.
  std::vector<std::string> paths;
  std::string name = {};        ///< prefix of the profile's name
  std::string step_range = {};  ///< as in ChromeImportOptions
  /// Profile in the store whose traces, configuration and structure the new one starts with;
  /// `paths` are then its other ranks. Empty: none.
  std::string with = {};
};

/// Imports the traces and copies them beside the store in `store_path`; the files are not needed
/// afterwards. The notes in the row's detail list data left out or not contained in the files.
/// Returns invalid_argument that names a file that is no trace, or a rank that occurs twice.
Result<ProfileRow> import_profile(Store& store, const std::string& store_path,
                                  const ImportRequest& request);

/// Traces that the ranks of a running job recorded of the same steps.
struct JobTraces {
  /// One file for each rank, as in ImportRequest, in the order of ranks; empty for a rank without.
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
