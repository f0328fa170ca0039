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
  /// Time that a call waits for another process that holds the store. It also bounds how long a
  /// server may take to accept a connection, rounded up to seconds, with 2 s at least.
  int busy_timeout_ms = 5000;
  /// Time that a server may take for one statement. One that is silent for a sixth longer counts as
  /// lost.
  int answer_timeout_ms = 60'000;
  /// The store's clock. Empty: the server's of a store on a server, otherwise the system's.
  WallClock now_unix_ns = {};
};

/// Opens a store: the file of this path, or if `store` begins with "postgresql://" or
/// "postgres://", the database of PostgreSQL that this URI names, as libpq reads it. Unless
/// read_only, creates a missing file with its folders, or the tables in an empty schema, and
/// migrates from an older version.
///
/// Returns not_found if read_only and the file or the tables are missing. Returns invalid_argument
/// if the file is not an SQLite database, the URI is none, or the store belongs to another program
/// or is from a newer version; it stays unchanged. Returns unavailable if it is read-only, damaged
/// or unreachable, or libpq is not there. Returns timed_out if another process has locked it. No
/// message has the password of a URI.
Result<std::unique_ptr<Store>> open_store(const std::string& store,
                                          const OpenOptions& options = {});

/// Opens a new, empty store in memory. It lives as long as the object, and no other process sees
/// it.
std::unique_ptr<Store> open_store_in_memory(WallClock now_unix_ns = {});

/// Returns $HOCKET_STORE, else $XDG_STATE_HOME/hocket/hocket.db, else
/// $HOME/.local/state/hocket/hocket.db. Returns invalid_argument if none of the three is set.
Result<std::string> default_store_path();

}  // namespace hocket
