#pragma once

// The tables of a store's file and how they came to be (docs/formats/store.md). Not thread-safe.

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "store/sqlite/connection.h"

namespace hocket::sqlite {

/// PRAGMA application_id of every store: "hckt".
inline constexpr std::int64_t kApplicationId = 0x68636b74;

/// Step i turns version i (PRAGMA user_version; 0 is an empty file) into version i + 1. Steps are
/// only ever added: a released one is in files that exist.
std::span<const char* const> migration_steps();

/// The file's version, from 0 to `newest`. invalid_argument when it is another program's database
/// or from a newer version. Call it within a transaction.
Result<std::int64_t> schema_version(Connection& db, std::int64_t newest);

/// Brings the file to the newest version, each step in a transaction of its own. Several processes
/// may do so at once.
Result<void> migrate(Connection& db, std::span<const char* const> steps);

}  // namespace hocket::sqlite
