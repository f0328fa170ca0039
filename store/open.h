#pragma once

// Opening a store. Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Unix time in nanoseconds.
using WallClock = std::function<std::int64_t()>;

/// The machine's wall clock.
std::int64_t system_unix_ns();

struct OpenOptions {
  /// For reading verbs: needs no permission to write, creates nothing.
  bool read_only = false;
  /// How long a call waits for another process that holds the store.
  int busy_timeout_ms = 5000;
  WallClock now_unix_ns = system_unix_ns;
};

/// Opens the store in the file `path`; unless it is opened read-only, creates it and its folders
/// when missing, and migrates it when it is from an older version.
///
/// not_found: read-only, and there is no file. invalid_argument: the file is not an SQLite
/// database, is another program's, or is from a newer version; it is left as it is. unavailable: it
/// is read-only, damaged or out of reach. timed_out: another process has locked it.
Result<std::unique_ptr<Store>> open_store(const std::string& path, const OpenOptions& options = {});

/// Opens a new, empty store in memory. It ends with the object and no other process sees it.
std::unique_ptr<Store> open_store_in_memory(WallClock now_unix_ns = system_unix_ns);

/// $HOCKET_STORE, else $XDG_STATE_HOME/hocket/hocket.db, else
/// $HOME/.local/state/hocket/hocket.db. invalid_argument when none of the three is set.
Result<std::string> default_store_path();

}  // namespace hocket
