#include "store/sql/open_database.h"

#include <utility>

#include "store/postgres/postgres_database.h"
#include "store/sqlite/database.h"
#include "store/sqlite/sqlite_database.h"
#include "store/store_uri.h"

namespace hocket::sql {

Result<std::unique_ptr<Database>> open_database(const std::string& store,
                                                const OpenOptions& options) {
  if (is_postgres_uri(store)) return postgres::open_database(store, options);
  HOCKET_TRY(check_store_name(store));
  auto db = sqlite::open_database(store, options.read_only, options.busy_timeout_ms);
  HOCKET_TRY(db);
  return sqlite::make_database(std::move(*db));
}

}  // namespace hocket::sql
