#pragma once

// The seam to a store's database (store/sql/database.h) with SQLite behind it. Not thread-safe.

#include <memory>

#include "store/sql/database.h"
#include "store/sqlite/connection.h"

namespace hocket::sqlite {

/// Returns the database of a connection from open_database().
std::unique_ptr<sql::Database> make_database(Connection connection);

}  // namespace hocket::sqlite
