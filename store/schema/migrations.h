#pragma once

// The schema of a store and its migrations, for SQLite and PostgreSQL side by side
// (docs/formats/store.md). Pure; thread-safe.

#include <cstdint>
#include <span>

namespace hocket::schema {

/// The statements that turn version i of a store into version i + 1, where i is the step's index
/// and version 0 is an empty store. Steps are only appended, since existing stores have run the
/// released ones. A step that adds a column adds it to both, in the same place: at the end.
struct Step {
  const char* sqlite;
  /// Null in steps before the first version with PostgreSQL, whose step makes all tables.
  const char* postgres;
};

std::span<const Step> steps();

/// Returns the version that all steps lead to.
std::int64_t newest_version();

}  // namespace hocket::schema
