#include "store/schema/tables.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "store/sqlite/database.h"
#include "tests/store/fixtures.h"

namespace hocket::schema {
namespace {

std::string word_of(sql::Value::Type type) {
  switch (type) {
    case sql::Value::Type::integer:
      return "INTEGER";
    case sql::Value::Type::real:
      return "REAL";
    default:
      return "TEXT";
  }
}

/// Returns "name TYPE, name TYPE, …" for a query of both.
std::string columns_in_file(sqlite::Connection& db, const std::string& table) {
  auto query =
      must(db.query("SELECT name || ' ' || type FROM pragma_table_info(?1) ORDER BY cid", table));
  std::string columns;
  while (must(query.next())) columns += query.text(0) + ", ";
  return columns;
}

TEST(Tables, AreThoseOfAFile) {
  auto db = must(sqlite::open_database_in_memory());
  std::set<std::string> known;
  for (const Table& table : tables()) {
    const std::string name(table.name);
    known.insert(name);
    std::string columns;
    for (const Column& column : table.columns) {
      columns += std::string(column.name) + " " + word_of(column.type) + ", ";
    }
    EXPECT_EQ(columns_in_file(db, name), columns) << name;
    const auto sequence = must(db.integer(
        "SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%'", name));
    EXPECT_EQ(sequence == 1, table.has_sequence) << name;
  }
  auto query = must(
      db.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"));
  std::set<std::string> found;
  while (must(query.next())) found.insert(query.text(0));
  EXPECT_EQ(found, known);
}

}  // namespace
}  // namespace hocket::schema
