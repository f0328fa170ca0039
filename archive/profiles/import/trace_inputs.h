#pragma once

// Finds the traces in what people name: files, packed files, archives, folders, standard input.
// Everything is read as a stream (profiler/formats/packed/packed_stream.h). Only databases that are
// packed or come from standard input are written to the disk, into a folder that goes afterwards.
// One thread.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "profiler/formats/packed/packed_stream.h"

namespace hocket {

/// A file that may be a trace by its first bytes.
struct TraceInput {
  std::string name;              ///< for messages, such as "run.tar.gz/rank0.json"
  std::istream* text = nullptr;  ///< JSON; nullptr for a database
  std::string database = {};     ///< path of an SQLite file
};

/// Progress of reading a path.
struct ReadingProgress {
  std::string path;
  std::int64_t bytes = 0;
  std::int64_t of_bytes = 0;  ///< 0 if it is not known
};

struct TraceInputOptions {
  std::istream* standard_input = nullptr;  ///< the stream that the path "-" stands for
  std::function<void(const ReadingProgress&)> on_progress = {};
  UnpackLimits limits = {};
  std::int64_t most_database_bytes = std::int64_t{16} << 30;  ///< limit on an unpacked database
  std::size_t most_files = 65'536;                            ///< limit on the files in a folder
};

/// Calls `take` for each trace of `paths`, in their order; of folders, which are not searched
/// deeper, and archives in the order of names and of the archive. Returns notes of what was left
/// out or ends early. Files of folders and archives that are no traces, and those that `take`
/// refuses, are left out. Returns an error if a path is missing, named twice, no trace itself, or
/// has none in it; if it exceeds the limits; and the error of `take` for a file that was named.
Result<std::vector<std::string>> read_trace_inputs(
    const std::vector<std::string>& paths, const TraceInputOptions& options,
    const std::function<Result<void>(const TraceInput&)>& take);

}  // namespace hocket
