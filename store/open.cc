#include "store/open.h"

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "store/memory/memory_store.h"
#include "store/sqlite/database.h"
#include "store/sqlite/sqlite_store.h"

namespace hocket {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::int64_t system_unix_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<std::unique_ptr<Store>> open_store(const std::string& path, const OpenOptions& options) {
  auto db = sqlite::open_database(path, options.read_only, options.busy_timeout_ms);
  if (!db) return failure(db.error());
  return std::make_unique<sqlite::SqliteStore>(std::move(*db), options.now_unix_ns);
}

Result<void> check_store(const std::string& path) {
  const auto damaged = [&](const std::string& what) {
    return failure(ErrorCode::unavailable,
                   "store " + path + " is damaged (" + what +
                       "); save what is left with sqlite3's .recover command");
  };
  auto db = sqlite::open_database(path, true, OpenOptions().busy_timeout_ms);
  if (!db) return failure(db.error());
  auto pages = db->query("PRAGMA integrity_check(1)");
  if (!pages) return failure(pages.error());
  if (const auto row = pages->next(); !row) return failure(row.error());
  if (pages->text(0) != "ok") return damaged(pages->text(0));
  auto references = db->query("PRAGMA foreign_key_check");
  if (!references) return failure(references.error());
  const auto row = references->next();
  if (!row) return failure(row.error());
  if (*row) return damaged("a row of " + references->text(0) + " names one that is not there");
  return {};
}

std::unique_ptr<Store> make_memory_store(WallClock now_unix_ns) {
  return std::make_unique<memory::MemoryStore>(std::move(now_unix_ns));
}

Result<std::string> default_store_path() {
  if (auto path = environment("HOCKET_STORE"); !path.empty()) return path;
  // The XDG Base Directory Specification says to ignore a relative XDG_STATE_HOME.
  if (const auto state = environment("XDG_STATE_HOME"); state.starts_with('/')) {
    return state + "/hocket/hocket.db";
  }
  if (const auto home = environment("HOME"); !home.empty()) {
    return home + "/.local/state/hocket/hocket.db";
  }
  return failure(ErrorCode::invalid_argument,
                 "no place for the store: none of HOCKET_STORE, XDG_STATE_HOME and HOME is set; "
                 "set HOCKET_STORE to a file, or give --store");
}

}  // namespace hocket
