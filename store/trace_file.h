#pragma once

// A rank's trace in a SQLite file of its own. Tables and columns are those of Nsight Systems'
// SQLite export where it has them, so what reads those reads these (docs/formats/trace_file.md).
// The implementation is in store/sqlite.
//
// A file that was not finished, because its writer was killed or the disk was full, or whose copy
// broke off, is read as far as it goes. Not thread-safe.

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"

namespace hocket {

class TraceFileWriter {
 public:
  virtual ~TraceFileWriter() = default;

  /// Appends `part`'s names, records, step starts and clock samples; record names index
  /// `part.names`. Its counts of dropped and quarantined records are added; records that
  /// put_in_order() would leave out are counted as quarantined. unavailable when the disk does not
  /// take it; what was appended before stays, and the part may be appended again.
  virtual Result<void> append(const RankTrace& part) = 0;

  /// Closes the file, which is whole and on the disk then. Appending afterwards is
  /// invalid_argument.
  virtual Result<void> finish() = 0;
};

/// Creates `path`; unavailable when it exists or cannot be written. `head` says whose trace it is:
/// rank, from 0 to 2^24 - 1, ranks, host, source.
Result<std::unique_ptr<TraceFileWriter>> create_trace_file(const std::string& path,
                                                           const RankTrace& head);

/// Times of the rank's clock. Records that overlap [begin_ns, end_ns) are inside, those without a
/// length when they lie in it.
struct TraceWindow {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

struct TraceFileSummary {
  std::int64_t records = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< of all records
  bool is_finished = false;               ///< false also of one that broke off
};

/// Of what was in the file when it was opened.
class TraceFileReader {
 public:
  virtual ~TraceFileReader() = default;

  virtual Result<TraceFileSummary> summary() = 0;
  /// All step starts, whatever the window.
  virtual Result<std::vector<StepStart>> step_starts() = 0;
  /// The records of the window, by begin_ns, with the names they use and all the rest.
  virtual Result<RankTrace> read(const TraceWindow& window = {}) = 0;
};

/// Opens a file that create_trace_file() made. not_found when there is no such file,
/// invalid_argument when it is another's or damaged. Where a writer was killed in an append, what
/// it had begun is undone in the file, which needs permission to write once.
Result<std::unique_ptr<TraceFileReader>> open_trace_file(const std::string& path);

/// Turns an SQLite export of Nsight Systems (`nsys export --type sqlite`) into a trace for each
/// process that used a device: kernels, copies and fills, NVTX ranges, runtime calls. The export
/// tells no ranks, so they are the processes in the order of their numbers. A kernel of NCCL is
/// communication, by its name. Steps are the NVTX ranges whose name, but for a number at its end
/// and blanks before it, is `step_range`; when it is empty, that of the ranges that repeat most
/// evenly. What the export does not have is not in the trace; a table whose columns are not those
/// expected is invalid_argument that names them.
Result<std::vector<RankTrace>> read_nsight_export(const std::string& path,
                                                  std::string_view step_range = {});

enum class TraceFileKind { hocket, nsight };

/// Who wrote an SQLite file of traces; errors as those of open_trace_file().
Result<TraceFileKind> trace_file_kind(const std::string& path);

}  // namespace hocket
