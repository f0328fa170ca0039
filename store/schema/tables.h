#pragma once

// The tables of a store's newest version, for what treats all rows alike. Pure; thread-safe.

#include <span>
#include <string_view>

#include "store/sql/database.h"

namespace hocket::schema {

struct Column {
  std::string_view name;
  sql::Value::Type type;
};

struct Table {
  std::string_view name;
  std::span<const Column> columns;  ///< in the order of both schemas
  /// Columns that order the rows, as texts are ordered byte by byte in both. Distinct for each row.
  std::string_view order;
  /// True if the table numbers its rows, and gives no number twice.
  bool has_sequence = false;
};

/// Returns the tables in an order in which each row follows those that it refers to.
std::span<const Table> tables();

}  // namespace hocket::schema
