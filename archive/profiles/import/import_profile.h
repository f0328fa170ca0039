#pragma once

// Imports traces of other tools as a profile: metrics, bound and predictions for jobs that do not
// use hocket. Not thread-safe.

#include <string>
#include <vector>

#include "archive/profiles/import/trace_inputs.h"
#include "archive/profiles/traces/imported_traces.h"
#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

struct ImportRequest {
  /// Timelines in the JSON trace event format (PyTorch's profiler, hocket), SQLite exports of
  /// Nsight Systems, or hocket's own trace files of a rank; packed, in archives or in folders; "-"
  /// is standard input. Each file has one rank or several.
  std::vector<std::string> paths;
  /// The profile's name, which is followed by "-2", "-3", … if it is taken. Empty: a name made of
  /// the files' names, and a number.
  std::string name = {};
  std::string step_range = {};  ///< as in ChromeImportOptions
  /// Names of kernels that communicate, beside those that are known (CommunicationPatterns).
  std::vector<std::string> communication = {};
  /// Profile in the store whose traces, configuration and structure the new one starts with;
  /// `paths` are then its other ranks. Empty: none.
  std::string with = {};
  TraceInputOptions inputs = {};
};

/// Reads the files of `request`, without `with`: ranks are not settled yet. Returns
/// invalid_argument that names a file that is no trace.
Result<ImportedTraces> read_traces(const ImportRequest& request);

/// Imports the traces and copies them beside the store in `store_path`; the files are not needed
/// afterwards. The notes in the row's detail list data left out or not contained in the files.
/// Returns invalid_argument that names a file that is no trace, or a rank that occurs twice.
Result<ProfileRow> import_profile(Store& store, const std::string& store_path,
                                  const ImportRequest& request);

/// Returns the beginning of a profile's name for traces of these paths: "resnet" for
/// "runs/resnet-rank0.json.gz" and "runs/resnet-rank1.json.gz"; empty if their names say nothing.
/// Pure.
std::string name_of_traces(const std::vector<std::string>& paths);

}  // namespace hocket
