#pragma once

// Chooses what is behind the seam to a store's database. Thread-safe.

#include <memory>
#include <string>

#include "core/base/result.h"
#include "store/open.h"
#include "store/sql/database.h"

namespace hocket::sql {

/// Opens the database of a store; open_store() documents the behaviour and errors.
Result<std::unique_ptr<Database>> open_database(const std::string& store,
                                                const OpenOptions& options);

}  // namespace hocket::sql
