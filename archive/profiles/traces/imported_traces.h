#pragma once

// Reads the traces of other tools' files and joins those of one job. Not thread-safe.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/formats/import_notes.h"

namespace hocket {

/// A rank's trace and the name of the file that it comes from.
struct ImportedTrace {
  std::string path;
  RankTrace trace;
};

/// Notes about a file, and its ranks in order. settle_ranks() fills in the ranks.
struct FileNotes {
  std::string path;
  ImportNotes notes;
  /// Range of its traces in ImportedTraces before settle_ranks().
  std::size_t first = 0, count = 0;
  std::vector<std::int64_t> ranks = {};
};

struct ImportedTraces {
  std::vector<ImportedTrace> traces;
  std::vector<FileNotes> files;
  std::vector<std::string> notes;  ///< notes on all files together
};

struct TraceReadOptions {
  std::string step_range = {};  ///< as in ChromeImportOptions
  bool rank_is_known = false;   ///< as in ChromeImportOptions
};

/// Adds the traces of JSON trace events. Errors begin with `path`.
Result<void> read_trace_text(const std::string& path, std::istream& text,
                             const TraceReadOptions& options, ImportedTraces& into);

/// Adds the traces of an SQLite file: an export of Nsight Systems, or hocket's own. `path` is its
/// name for messages.
Result<void> read_trace_database(const std::string& path, const std::string& database,
                                 const TraceReadOptions& options, ImportedTraces& into);

/// Numbers the files if none identifies its rank, by their names (trace_order.h), checks that each
/// rank occurs once and all agree on the number of ranks, sorts the traces by rank, and names
/// groups alike on all ranks.
Result<void> settle_ranks(ImportedTraces& imported);

/// Returns all notes, those that withhold figures first. One that several files share is one line
/// with their ranks, and what they left out is one line with the sums. Requires settle_ranks().
std::vector<std::string> joined_notes(const ImportedTraces& imported);

}  // namespace hocket
