#pragma once

// Checks that the file of a store is whole. Thread-safe.

#include <string>

#include "core/base/result.h"
#include "store/sqlite/database.h"

namespace hocket {

/// Runs SQLite's check of every page and index, and checks that every row that a row names is
/// there. unavailable, naming the first thing that is wrong; other errors as open_store(),
/// read-only.
inline Result<void> check_store(const std::string& path) {
  const auto damaged = [&](const std::string& what) {
    return failure(ErrorCode::unavailable, "store " + path + " is damaged: " + what);
  };
  auto db = sqlite::open_database(path, /*read_only=*/true, /*busy_timeout_ms=*/5000);
  HOCKET_TRY(db);
  auto pages = db->query("PRAGMA integrity_check(1)");
  HOCKET_TRY(pages);
  HOCKET_TRY(pages->next());
  if (pages->text(0) != "ok") return damaged(pages->text(0));
  auto references = db->query("PRAGMA foreign_key_check");
  HOCKET_TRY(references);
  const auto row = references->next();
  HOCKET_TRY(row);
  if (*row) return damaged("a row of " + references->text(0) + " names one that is not there");
  return {};
}

}  // namespace hocket
