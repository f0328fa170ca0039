#pragma once

// Opens a path as a configured connection: checks the file, its version and its permissions.
// Thread-safe.

#include <string>

#include "core/base/result.h"
#include "store/sqlite/connection.h"

namespace hocket::sqlite {

/// Opens a store's database; open_store() documents the behaviour and errors.
Result<Connection> open_database(const std::string& path, bool read_only, int busy_timeout_ms);

/// See open_store_in_memory().
Result<Connection> open_database_in_memory();

}  // namespace hocket::sqlite
