#include "store/copy_store.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "store/open.h"
#include "store/schema/tables.h"
#include "store/sql/database.h"
#include "store/sql/open_database.h"
#include "store/sql/sql_store.h"
#include "store/store_uri.h"

namespace hocket {
namespace {

using schema::Table;
using sql::Database;
using Type = sql::Value::Type;

/// Rows that are written at once.
constexpr std::size_t kRowsAtOnce = 1000;

/// One value of a row, which owns its text.
struct Cell {
  std::optional<std::int64_t> integer = {};
  std::optional<double> real = {};
  std::optional<std::string> text = {};

  // Zero has no sign in SQLite's files, so 0.0 and -0.0 are the same here, as they are for ==.
  bool operator==(const Cell&) const = default;
};

using Row = std::vector<Cell>;

Row read_row(const sql::Rows& rows, const Table& table) {
  Row row;
  for (int i = 0; i < static_cast<int>(table.columns.size()); ++i) {
    Cell cell;
    if (!rows.is_null(i)) {
      const Type type = table.columns[static_cast<std::size_t>(i)].type;
      if (type == Type::integer) cell.integer = rows.integer(i);
      if (type == Type::real) cell.real = rows.real(i);
      if (type == Type::text || type == Type::any_text) cell.text = rows.text(i);
    }
    row.push_back(std::move(cell));
  }
  return row;
}

std::vector<sql::Value> values_of(const Row& row, const Table& table) {
  std::vector<sql::Value> values;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Type type = table.columns[i].type;
    sql::Value value = type == Type::integer ? sql::Value(row[i].integer)
                       : type == Type::real  ? sql::Value(row[i].real)
                                             : sql::Value(row[i].text);
    value.type = type;
    values.push_back(value);
  }
  return values;
}

std::string column_list(const Table& table, std::string_view prefix = "") {
  std::string list;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    list.append(i == 0 ? "" : ", ");
    prefix.empty() ? list.append(table.columns[i].name)
                   : list.append(prefix).append(std::to_string(i + 1));
  }
  return list;
}

std::string select_text(const Table& table) {
  return "SELECT " + column_list(table) + " FROM " + std::string(table.name) + " ORDER BY " +
         std::string(table.order);
}

std::string insert_text(const Table& table) {
  return "INSERT INTO " + std::string(table.name) + " (" + column_list(table) + ") VALUES (" +
         column_list(table, "?") + ")";
}

/// Describes the place of a row in messages: "row 3 of trials".
std::string place_of(std::int64_t number, const Table& table) {
  return "row " + std::to_string(number) + " of " + std::string(table.name);
}

class Copying {
 public:
  Copying(Database& from, Database& to) : from_(from), to_(to) {}

  Result<std::vector<CopiedTable>> copy_all() {
    HOCKET_TRY(check_empty());
    std::vector<CopiedTable> copied;
    for (const Table& table : schema::tables()) {
      const auto rows = copy(table);
      if (!rows) return failure(rows.error().in("table " + std::string(table.name)));
      copied.push_back({std::string(table.name), *rows});
    }
    for (const Table& table : schema::tables()) HOCKET_TRY(go_on_numbering(table));
    for (const Table& table : schema::tables()) HOCKET_TRY(compare(table));
    return copied;
  }

 private:
  /// Keeps others from writing into the target, and refuses one that has rows.
  Result<void> check_empty() {
    for (const Table& table : schema::tables()) {
      const std::string name(table.name);
      HOCKET_TRY(to_.execute("{LOCK TABLE " + name + " IN EXCLUSIVE MODE}"));
      const auto rows = to_.integer("SELECT count(*) FROM " + name);
      HOCKET_TRY(rows);
      if (rows->value_or(0) == 0) continue;
      return failure(ErrorCode::invalid_argument, "store " + to_.name() + " is not empty: " + name +
                                                      " has " + std::to_string(**rows) +
                                                      " rows; copy into a new store");
    }
    return {};
  }

  Result<std::int64_t> copy(const Table& table) {
    const auto rows = from_.stream(select_text(table));
    HOCKET_TRY(rows);
    std::int64_t count = 0;
    std::vector<Row> pending;
    for (bool is_over = false; !is_over;) {
      const auto more = (*rows)->next();
      HOCKET_TRY(more);
      is_over = !*more;
      if (*more) pending.push_back(read_row(**rows, table));
      if (pending.size() < kRowsAtOnce && !is_over) continue;
      std::vector<std::vector<sql::Value>> lists;
      for (const Row& row : pending) lists.push_back(values_of(row, table));
      HOCKET_TRY(to_.change_each(insert_text(table), lists));
      count += std::ssize(pending);
      pending.clear();
    }
    return count;
  }

  /// Lets the target's numbers go on behind those of the source, also of rows that were removed.
  Result<void> go_on_numbering(const Table& table) {
    if (table.columns.front().name != "id") return {};
    const std::string name(table.name);
    const auto last_row = to_.integer("SELECT max(id) FROM " + name);
    HOCKET_TRY(last_row);
    std::int64_t last = last_row->value_or(0);
    if (table.has_sequence) {
      const auto given_out = from_.last_id(name);
      HOCKET_TRY(given_out);
      last = std::max(last, *given_out);
    }
    return to_.set_last_id(name, last);
  }

  Result<void> compare(const Table& table) {
    const auto left = from_.stream(select_text(table));
    HOCKET_TRY(left);
    const auto right = to_.stream(select_text(table));
    HOCKET_TRY(right);
    for (std::int64_t number = 1;; ++number) {
      const auto has_left = (*left)->next();
      HOCKET_TRY(has_left);
      const auto has_right = (*right)->next();
      HOCKET_TRY(has_right);
      if (!*has_left && !*has_right) return {};
      const bool is_same =
          *has_left && *has_right && read_row(**left, table) == read_row(**right, table);
      if (is_same) continue;
      return failure(ErrorCode::unavailable, place_of(number, table) +
                                                 " is not the same in store " + to_.name() +
                                                 " after the copy; nothing is copied");
    }
  }

  Database& from_;
  Database& to_;
};

}  // namespace

Result<std::vector<CopiedTable>> copy_store(const std::string& from, const std::string& to) {
  const auto source = sql::open_database(from, {.read_only = true});
  HOCKET_TRY(source);
  const auto target = sql::open_database(to, {});
  HOCKET_TRY(target);
  // The target first: if both are one store, it is locked then, or not empty.
  HOCKET_TRY((*target)->begin(Database::Access::write));
  const sql::RollBack target_unless_committed(**target);
  HOCKET_TRY((*source)->begin(Database::Access::read));
  const sql::RollBack source_at_last(**source);
  auto copied = Copying(**source, **target).copy_all();
  if (!copied) return copied;
  HOCKET_TRY((*target)->commit());
  return copied;
}

}  // namespace hocket
