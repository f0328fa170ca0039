#include "store/sqlite/schema.h"

#include <string>
#include <vector>

#include "store/schema/migrations.h"

namespace hocket::sqlite {
namespace {

/// Runs the file's next migration step; returns the version after it.
Result<std::int64_t> migrate_once(Connection& db, std::span<const char* const> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  auto transaction = Transaction::begin(db, Transaction::Kind::write);
  HOCKET_TRY(transaction);
  // Reads the version under the write lock: another process may have migrated meanwhile.
  const auto version = schema_version(db, newest);
  HOCKET_TRY(version);
  if (*version == newest) return newest;
  const std::string mark = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                           "; PRAGMA user_version = " + std::to_string(*version + 1);
  HOCKET_TRY(db.execute_script(steps[static_cast<std::size_t>(*version)]));
  HOCKET_TRY(db.execute_script(mark.c_str()));
  HOCKET_TRY(transaction->commit());
  return *version + 1;
}

}  // namespace

std::span<const char* const> migration_steps() {
  static const std::vector<const char*> steps = [] {
    std::vector<const char*> texts;
    for (const schema::Step& step : schema::steps()) texts.push_back(step.sqlite);
    return texts;
  }();
  return steps;
}

Result<std::int64_t> schema_version(Connection& db, std::int64_t newest) {
  const auto application = db.integer("PRAGMA application_id");
  HOCKET_TRY(application);
  const auto version = db.integer("PRAGMA user_version");
  HOCKET_TRY(version);
  const auto objects = db.integer("SELECT count(*) FROM sqlite_schema");
  HOCKET_TRY(objects);
  const bool empty = *application == 0 && *version == 0 && *objects == 0;
  if (*application != kApplicationId && !empty) {
    return failure(
        ErrorCode::invalid_argument,
        db.path() + " is not a store: it is another program's SQLite database; " + kNameAnother);
  }
  const std::int64_t number = version->value_or(0);
  if (number < 0 || number > newest) {
    return failure(ErrorCode::invalid_argument,
                   "store " + db.path() + " has version " + std::to_string(number) +
                       ", this hocket knows versions up to " + std::to_string(newest) +
                       "; use the newer hocket that wrote it, or " + kNameAnother);
  }
  return number;
}

Result<void> migrate(Connection& db, std::span<const char* const> steps) {
  for (;;) {
    const auto version = migrate_once(db, steps);
    HOCKET_TRY(version);
    if (*version == static_cast<std::int64_t>(steps.size())) return {};
  }
}

}  // namespace hocket::sqlite
