#pragma once

// The rows of results in PostgreSQL's binary format. Not thread-safe.

#include <memory>

#include "store/postgres/session.h"
#include "store/sql/database.h"

namespace hocket::postgres {

/// Returns the rows of a result that is there as a whole.
std::unique_ptr<sql::Rows> make_rows(const Libpq& libpq, PqResult result);

/// Returns the rows of a stream that has been started. If they are not read to the end, the
/// session's connection is given up with them.
std::unique_ptr<sql::Rows> make_stream(Session& session);

}  // namespace hocket::postgres
