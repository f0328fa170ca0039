#pragma once

// From a path to a connection that is ready for use: the right file, the right version, the right
// settings. Thread-safe.

#include <string>

#include "core/base/result.h"
#include "store/sqlite/connection.h"

namespace hocket::sqlite {

/// See open_store() for what it does and its errors.
Result<Connection> open_database(const std::string& path, bool read_only, int busy_timeout_ms);

/// See open_store_in_memory().
Result<Connection> open_database_in_memory();

}  // namespace hocket::sqlite
