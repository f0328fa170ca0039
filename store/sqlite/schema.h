#pragma once

// Migrates a store's file (docs/formats/store.md). Not thread-safe.

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "store/sqlite/connection.h"

namespace hocket::sqlite {

/// PRAGMA application_id of every store: "hckt".
inline constexpr std::int64_t kApplicationId = 0x68636b74;

/// Returns SQLite's statements of schema::steps(): number i turns version i (PRAGMA user_version; 0
/// is an empty file) into version i + 1.
std::span<const char* const> migration_steps();

/// Returns the file's version, from 0 to `newest`. Returns invalid_argument if it is another
/// program's database or from a newer version. Call it within a transaction.
Result<std::int64_t> schema_version(Connection& db, std::int64_t newest);

/// Migrates the file to the newest version, each step in its own transaction. Several processes may
/// do so at once.
Result<void> migrate(Connection& db, std::span<const char* const> steps);

}  // namespace hocket::sqlite
