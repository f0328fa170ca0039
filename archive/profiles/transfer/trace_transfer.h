#pragma once

// The seam to the daemons that serve trace files (docs/guides/cluster.md, "Traces"). A process that
// saves a profile sends its trace files to a daemon, and a process that reads the profile fetches
// them, so that hosts need no folder in common. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/files/scratch_folder.h"
#include "store/trace_url.h"

namespace hocket {

/// A trace file on this host, which is there as long as this object.
struct LocalTrace {
  std::string path;
  std::optional<ScratchFolder> folder = {};  ///< holds the file if it was fetched
};

class TraceSource {
 public:
  virtual ~TraceSource() = default;

  /// Returns a copy of the trace. Errors: not_found if the daemon does not have it,
  /// invalid_argument if it does not let this process read it, unavailable.
  virtual Result<LocalTrace> fetch(const TraceUrl& url) = 0;
};

/// A new trace set: a place at a daemon for the traces of one profile.
struct TraceSet {
  std::string daemon;  ///< as in TraceUrl
  std::string id;      ///< as is_trace_set() has it

  TraceUrl of_rank(std::int64_t rank) const { return {daemon, id, rank}; }
};

class TraceTarget {
 public:
  virtual ~TraceTarget() = default;

  /// Returns nothing if no daemon takes traces from here, which is no error.
  virtual Result<std::optional<TraceSet>> make_set() = 0;

  /// Sends the trace file at `path`, which stays.
  virtual Result<void> send(const std::string& path, const TraceUrl& url) = 0;
};

}  // namespace hocket
