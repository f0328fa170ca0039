#include "store/open.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "core/base/check.h"
#include "core/protocol/state_folder.h"
#include "store/sql/open_database.h"
#include "store/sql/sql_store.h"
#include "store/sqlite/database.h"
#include "store/sqlite/sqlite_database.h"

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

Result<std::unique_ptr<Store>> open_store(const std::string& store, const OpenOptions& options) {
  auto db = sql::open_database(store, options);
  HOCKET_TRY(db);
  return std::make_unique<sql::SqlStore>(std::move(*db), options.now_unix_ns);
}

std::unique_ptr<Store> open_store_in_memory(WallClock now_unix_ns) {
  auto db = sqlite::open_database_in_memory();
  HOCKET_CHECK(db.has_value(), "no memory for a store");
  return std::make_unique<sql::SqlStore>(sqlite::make_database(std::move(*db)),
                                         std::move(now_unix_ns));
}

Result<std::string> default_store_path() {
  if (auto path = environment("HOCKET_STORE"); !path.empty()) return path;
  const auto folder = state_folder(environment("XDG_STATE_HOME"), environment("HOME"));
  if (!folder.empty()) return folder + "/hocket.db";
  return failure(ErrorCode::invalid_argument,
                 "no place for the store: none of HOCKET_STORE, XDG_STATE_HOME and HOME is set; "
                 "set HOCKET_STORE to a file, or give --store");
}

}  // namespace hocket
