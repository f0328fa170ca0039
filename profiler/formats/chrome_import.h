#pragma once

// Reads a timeline in the JSON trace event format (docs/formats/trace.md): from PyTorch's profiler
// (Kineto), from hocket, from Ascend's and XLA's profilers, from Horovod, and from any other tool
// that follows the format. Reads a stream: memory
// grows with the content kept, not with the depth or length of the file. Pure, except for reading
// the stream.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "profiler/formats/import_notes.h"

namespace hocket {

struct ChromeImportOptions {
  /// Name of the ranges that mark steps, without a number at its end and the blanks before it.
  /// Empty: "ProfilerStep#", else the "step" of the events' arguments.
  std::string step_range = {};
  /// The caller knows whose trace it is, so nothing is said of a file that does not name its rank.
  bool rank_is_known = false;
};

struct ChromeImport {
  /// One for each process of hocket's own files and each device of XLA's; one for other files, with
  /// the distributed rank of Kineto's.
  std::vector<RankTrace> traces;
  /// Messages for people: what was left out and why.
  std::vector<std::string> notes;
  ImportNotes details;  ///< the same, to be joined with those of other files
};

/// Reads a trace. Kernels, copies and fills are recognised by their category. NCCL's kernels, and
/// on the host c10d's and gloo's operations, are communication. CPU operations are compute if the
/// trace has no device. A file that ends in the middle is read up to there, and a note says so.
/// Returns invalid_argument, with the position, if it is not JSON, if nothing in it is an event
/// that lasts, or if its events are no work of a device but those of a tool that is not read.
Result<ChromeImport> read_chrome_trace(std::istream& in, const ChromeImportOptions& options = {});

}  // namespace hocket
