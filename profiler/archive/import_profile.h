#pragma once

// Traces from elsewhere become a profile: metrics, bound and predictions for jobs that know nothing
// of hocket. Not thread-safe.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/calibration/step_structure.h"
#include "store/store.h"

namespace hocket {

struct ImportRequest {
  /// Each a timeline in the JSON trace event format (PyTorch's profiler, hocket), an SQLite export
  /// of Nsight Systems, or a rank's trace file of hocket's own. One a rank, or several in one.
  std::vector<std::string> paths;
  std::string name = {};        ///< what the profile's name begins with
  std::string step_range = {};  ///< as ChromeImportOptions has it
  /// A profile of the store whose traces, configuration and structure the new one begins with:
  /// `paths` are of its other ranks. Empty: none.
  std::string with = {};
};

/// Copies the traces beside the store in `store_path`; the files are not needed afterwards. What
/// was left out of them, and what cannot be told from them, is in the notes of the row's detail.
/// invalid_argument names the file that is no trace, or a rank that comes twice.
Result<ProfileRow> import_profile(Store& store, const std::string& store_path,
                                  const ImportRequest& request);

/// The structure that all of `traces` share, by infer_structure(); sets their records' tasks. Of
/// ranks that do other work than the lowest, and of all when it fails, the tasks are unknown, and
/// `notes` says why. Empty when it fails.
StepStructure infer_common_structure(std::vector<RankTrace>& traces,
                                     std::vector<std::string>& notes);

}  // namespace hocket
