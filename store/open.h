#pragma once

// Opens a store. Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Returns Unix time in nanoseconds.
using WallClock = std::function<std::int64_t()>;

/// Returns the time of the system's wall clock.
std::int64_t system_unix_ns();

struct OpenOptions {
  /// For verbs that only read: needs no write permission and creates nothing.
  bool read_only = false;
  /// Time that a call waits for another process that holds the store.
  int busy_timeout_ms = 5000;
  WallClock now_unix_ns = system_unix_ns;
};

/// Opens the store in the file `path`. Unless read_only, creates it and its folders if missing, and
/// migrates it from an older version.
///
/// Returns not_found if read_only and the file is missing. Returns invalid_argument if the file is
/// not an SQLite database, belongs to another program, or is from a newer version; the file stays
/// unchanged. Returns unavailable if it is read-only, damaged or unreachable. Returns timed_out if
/// another process has locked it.
Result<std::unique_ptr<Store>> open_store(const std::string& path, const OpenOptions& options = {});

/// Opens a new, empty store in memory. It lives as long as the object, and no other process sees
/// it.
std::unique_ptr<Store> open_store_in_memory(WallClock now_unix_ns = system_unix_ns);

/// Returns $HOCKET_STORE, else $XDG_STATE_HOME/hocket/hocket.db, else
/// $HOME/.local/state/hocket/hocket.db. Returns invalid_argument if none of the three is set.
Result<std::string> default_store_path();

}  // namespace hocket
