#pragma once

// The seam to a store's database (store/sql/database.h) with PostgreSQL behind it. Transactions
// that only read see one snapshot; those that write are READ COMMITTED and lock the rows that they
// decide by. Not thread-safe.

#include <memory>
#include <string>

#include "store/open.h"
#include "store/postgres/session.h"
#include "store/sql/database.h"

namespace hocket::postgres {

/// Opens the database of a URI; open_store() documents the behaviour and errors.
Result<std::unique_ptr<sql::Database>> open_database(const std::string& uri,
                                                     const OpenOptions& options);

/// Connects, and prepares the schema. Tests pass a target with functions that fail.
Result<std::unique_ptr<sql::Database>> open_database(const Target& target);

}  // namespace hocket::postgres
