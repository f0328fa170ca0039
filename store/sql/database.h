#pragma once

// The seam to a database that keeps a store: SQLite (store/sqlite) or PostgreSQL (store/postgres).
// The statements are the same for both (store/sql/sql_store.h), with two conventions:
//
// - Parameters are ?1, ?2, … .
// - Text in braces is for databases that lock rows: "SELECT … {FOR UPDATE}". SQLite, where one
//   transaction at a time writes, runs the statement without it.
//
// Not thread-safe: one thread at a time uses a database and the rows made from it. Listeners and
// claims live by themselves.

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "store/change_listener.h"
#include "store/key_claim.h"

namespace hocket::sql {

/// Text that may hold any bytes. All other text is UTF-8 without NUL (rules::check_text).
struct AnyText {
  std::string_view bytes;
};

/// A parameter of a statement. Text must outlive it. NULL has a type, too.
struct Value {
  enum class Type { integer, real, text, any_text };

  Value(std::same_as<std::int64_t> auto value) : type(Type::integer), integer(value) {}
  Value(double value) : type(Type::real), real(value) {}
  Value(std::string_view value) : type(Type::text), text(value) {}
  Value(const std::string& value) : type(Type::text), text(value) {}
  Value(const char* value) : type(Type::text), text(value) {}
  Value(AnyText value) : type(Type::any_text), text(value.bytes) {}
  Value(const std::optional<std::int64_t>& value)
      : type(Type::integer), is_null(!value), integer(value.value_or(0)) {}
  Value(const std::optional<double>& value)
      : type(Type::real), is_null(!value), real(value.value_or(0)) {}
  Value(const std::optional<std::string_view>& value)
      : type(Type::text), is_null(!value), text(value.value_or("")) {}
  Value(const std::optional<std::string>& value)
      : type(Type::text), is_null(!value), text(value ? std::string_view(*value) : "") {}

  Type type;
  bool is_null = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text = {};
};

/// The rows that a statement returns. The database must outlive them.
class Rows {
 public:
  virtual ~Rows() = default;

  /// Steps to the next row; returns false after the last one.
  virtual Result<bool> next() = 0;

  // Columns of the current row, from 0. Text is read alike whether it may hold any bytes or not.
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string text(int column) const = 0;

  std::optional<std::int64_t> optional_integer(int column) const {
    return is_null(column) ? std::nullopt : std::optional(integer(column));
  }
  std::optional<double> optional_real(int column) const {
    return is_null(column) ? std::nullopt : std::optional(real(column));
  }
};

class Database {
 public:
  enum class Access {
    read,   ///< all reads see one state
    write,  ///< reads see what was committed before each statement, and rows can be locked
  };

  virtual ~Database() = default;

  /// Names the database in messages, without a password.
  virtual const std::string& name() const = 0;

  /// Begins a transaction. A database that has lost its connection connects again.
  virtual Result<void> begin(Access access) = 0;
  /// Ends the transaction. After an error nothing has changed, unless the error says that this is
  /// not known.
  virtual Result<void> commit() = 0;
  /// Ends the transaction, if there is one, without its changes.
  virtual void rollback() = 0;
  /// Returns whether the transaction that has just failed can succeed when it is repeated from its
  /// beginning.
  virtual bool is_repeatable() const = 0;

  // Statements. All run within a transaction.
  virtual Result<std::unique_ptr<Rows>> rows(std::string_view sql,
                                             std::span<const Value> values) = 0;
  /// The same for many rows, which need not fit into memory. No other statement may run before the
  /// last row is read or the rows are destroyed.
  virtual Result<std::unique_ptr<Rows>> stream(std::string_view sql) = 0;
  /// Returns the number of rows that the statement itself has inserted, updated or deleted.
  virtual Result<std::int64_t> change(std::string_view sql, std::span<const Value> values) = 0;
  /// Runs `sql` once for each list of values.
  virtual Result<void> change_each(std::string_view sql,
                                   std::span<const std::vector<Value>> lists) = 0;

  /// Returns Unix time by the database's clock.
  virtual Result<std::int64_t> now_ns() = 0;
  /// Waits until no other transaction holds `name`, and holds it to the end of this one. No effect
  /// where one transaction at a time writes.
  virtual Result<void> hold(std::string_view name) = 0;
  /// Returns an id for a new row of `table` that none had before. The caller inserts it.
  virtual Result<std::int64_t> next_id(std::string_view table) = 0;
  /// Returns the last id that `table` gave out, of a table that numbers its rows.
  virtual Result<std::int64_t> last_id(std::string_view table) = 0;
  /// Lets `table` go on behind `id`.
  virtual Result<void> set_last_id(std::string_view table, std::int64_t id) = 0;
  /// Tells the listeners of all processes once the transaction is committed.
  virtual Result<void> notify(const KeyChange& change) = 0;

  /// See Store::change_count(). Runs outside of a transaction.
  virtual Result<std::int64_t> change_count() = 0;
  // Any thread may call these at any time.

  /// See Store::listen().
  virtual Result<std::unique_ptr<ChangeListener>> listen(OnKeyChange on_change) = 0;
  /// See Store::claim_key().
  virtual Result<std::unique_ptr<KeyClaim>> claim(std::int64_t topology_id,
                                                  std::int64_t workload_id) = 0;

  /// Runs a statement and returns its rows.
  template <class... Values>
  Result<std::unique_ptr<Rows>> query(std::string_view sql, const Values&... values) {
    const std::vector<Value> list{Value(values)...};
    return rows(sql, list);
  }

  /// Runs a statement and returns the number of rows that it changed.
  template <class... Values>
  Result<std::int64_t> execute(std::string_view sql, const Values&... values) {
    const std::vector<Value> list{Value(values)...};
    return change(sql, list);
  }

  /// Returns the integer in the first column of the first row; nothing without a row or if it is
  /// NULL.
  template <class... Values>
  Result<std::optional<std::int64_t>> integer(std::string_view sql, const Values&... values) {
    const auto found = query(sql, values...);
    HOCKET_TRY(found);
    const auto row = (*found)->next();
    HOCKET_TRY(row);
    return *row ? (*found)->optional_integer(0) : std::nullopt;
  }
};

/// Returns `sql` with its parameters as "`mark`1", "`mark`2", … and with the text in braces, or
/// without.
std::string statement_text(std::string_view sql, char mark, bool locks_rows);

}  // namespace hocket::sql
