#pragma once

// Stores a rank's trace in an SQLite file. Tables and columns follow Nsight Systems' SQLite export
// where it has them, so programs that read such exports read these files
// (docs/formats/trace_file.md). The implementation is in store/sqlite.
//
// A file that is unfinished, because its writer was killed or the disk was full, or whose copy is
// incomplete, is read up to the point where it ends. Not thread-safe.

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/trace/impossible_records.h"
#include "core/trace/rank_trace.h"

namespace hocket {

class TraceFileWriter {
 public:
  virtual ~TraceFileWriter() = default;

  /// Appends `part`'s names, records, step starts and clock samples; record names index
  /// `part.names`. Adds its counts of dropped and quarantined records; records that put_in_order()
  /// would leave out count as quarantined. Returns unavailable if the disk fails; earlier appends
  /// stay, and the part may be appended again.
  virtual Result<void> append(const RankTrace& part) = 0;

  /// Closes the file, which is then complete and on the disk. Appending afterwards is
  /// invalid_argument.
  virtual Result<void> finish() = 0;
};

/// Creates `path`; returns unavailable if it exists or cannot be written. `head` supplies the rank,
/// from 0 to 2^24 - 1, ranks, host and source.
Result<std::unique_ptr<TraceFileWriter>> create_trace_file(const std::string& path,
                                                           const RankTrace& head);

/// Times on the rank's clock. A record is inside if it overlaps [begin_ns, end_ns), or lies in it
/// if it has no length.
struct TraceWindow {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

struct TraceFileSummary {
  std::int64_t records = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< over all records
  bool is_finished = false;               ///< false also for a cut-off file
};

/// Reads the content that the file had when it was opened.
class TraceFileReader {
 public:
  virtual ~TraceFileReader() = default;

  virtual Result<TraceFileSummary> summary() = 0;
  /// Returns all step starts, whatever the window.
  virtual Result<std::vector<StepStart>> step_starts() = 0;
  /// Returns the records of the window, by begin_ns, with the names they use, and all other parts
  /// of the trace.
  virtual Result<RankTrace> read(const TraceWindow& window = {}) = 0;
};

/// Opens a file that create_trace_file() made. Returns not_found if there is no such file,
/// invalid_argument if it is another program's or damaged. If a writer was killed during an append,
/// its transaction is rolled back in the file, which needs write permission once.
Result<std::unique_ptr<TraceFileReader>> open_trace_file(const std::string& path);

/// Things about an export of Nsight Systems that its traces do not say.
struct NsightFindings {
  ImpossibleRecords impossible = {};  ///< of all processes together
  std::int64_t incomplete_steps = 0;  ///< iterations that miss work and have no window
  /// Launches of CUDA graphs that are recorded as a whole, and their share of the work's time.
  std::int64_t graph_launches = 0;
  double graph_share = 0;
  /// Tables with rows of events that are not read, by name.
  std::vector<std::string> unread_tables = {};
};

/// Reads an SQLite export of Nsight Systems (`nsys export --type sqlite`) as a trace for each
/// process that used a device: kernels, copies and fills, NVTX ranges, runtime calls. The export
/// has no ranks, so processes are numbered in the order of their ids. A kernel with an NCCL name is
/// communication. A launch of a CUDA graph that is recorded as a whole
/// is computation. Steps are the NVTX ranges whose name is `step_range`, without a number at its
/// end and the blanks before it; if `step_range` is empty, "ProfilerStep#", else the name of the
/// ranges that repeat most evenly and have work in them, else the names of kernels, where they
/// repeat. Data missing in the export is missing in the trace. A table with unexpected columns is
/// invalid_argument that names them. Adds to `findings` if it is given.
Result<std::vector<RankTrace>> read_nsight_export(const std::string& path,
                                                  std::string_view step_range = {},
                                                  NsightFindings* findings = nullptr);

enum class TraceFileKind { hocket, nsight };

/// Returns which program wrote an SQLite trace file; errors as in open_trace_file().
Result<TraceFileKind> trace_file_kind(const std::string& path);

}  // namespace hocket
