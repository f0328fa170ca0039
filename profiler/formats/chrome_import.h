#pragma once

// Reads a timeline in the JSON trace event format (docs/formats/trace.md): those of PyTorch's
// profiler (Kineto), those that hocket writes, and any other that keeps to it. Read as a stream: a
// file of any depth or length costs no more memory than what it holds.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"

namespace hocket {

struct ChromeImportOptions {
  /// Name of the ranges that mark steps, but for a number at its end and blanks before it; empty:
  /// "ProfilerStep#", else the "step" of the events' arguments.
  std::string step_range = {};
};

struct ChromeImport {
  /// One a process of hocket's own, one a file of Kineto's, with its distributed rank.
  std::vector<RankTrace> traces;
  /// What was left out, and why, for people.
  std::vector<std::string> notes;
};

/// Kernels, copies and fills by their category; NCCL's kernels, and on the host c10d's and gloo's
/// operations, are communication; CPU operations are compute where the trace has no device.
/// A file that ends in the middle is read as far as it goes, and a note says so. invalid_argument,
/// with the place, when it is no JSON, or nothing in it is an event.
Result<ChromeImport> read_chrome_trace(std::istream& in, const ChromeImportOptions& options = {});

}  // namespace hocket
