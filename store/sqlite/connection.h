#pragma once

// Wraps SQLite's C interface in RAII types with error messages that tell the user what to do. Only
// this file and its source include sqlite3.h. Not thread-safe: one thread at a time uses a
// connection and everything made from it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hocket::sqlite {

/// Ends error messages about the file.
inline constexpr char kNameAnother[] = "name another store with --store or HOCKET_STORE";

/// The kind of file, for the wording and codes of errors about it.
struct Subject {
  std::string_view noun = "store";
  std::string_view advice = kNameAnother;
  /// Error code for a file whose content SQLite did not write.
  ErrorCode damaged = ErrorCode::unavailable;
};

/// Returns the error for a file that may be read but not written.
Error read_only_error(const std::string& path, const Subject& subject = {});

/// A value bound as bytes, not as text.
struct Bytes {
  std::string_view value;
};

class Query;

/// An open database, in a file or in memory. Prepared statements are kept for its lifetime.
class Connection {
 public:
  enum class Mode {
    create,     ///< read and write; creates an empty file if there is none
    read,       ///< read, beside processes that write
    recover,    ///< read; undoes a killed writer's unfinished transaction where permitted
    immutable,  ///< read a file that no process writes meanwhile; takes no locks
  };

  /// Opens the file. `path` must be absolute: SQLite interprets some relative names (":memory:",
  /// "file:…").
  static Result<Connection> open(const std::string& path, Mode mode, int busy_timeout_ms,
                                 const Subject& subject = {});
  /// Opens a new, empty database in memory, which ends with the connection.
  static Result<Connection> open_in_memory();

  /// Bounds the memory that a stranger's file can take: cells are short, and a query ends with an
  /// error once this process has grown by more than its budget (core/base/memory_budget.h).
  void bound_memory();

  /// Prepares `sql` (a literal, or text that outlives the connection) and binds `values` to ?1, ?2,
  /// …. At most one Query of each text may exist at a time.
  template <class... Values>
  Result<Query> query(std::string_view sql, const Values&... values);

  /// Runs `sql` to its end and ignores its rows.
  template <class... Values>
  Result<void> execute(std::string_view sql, const Values&... values);

  /// Returns the integer in the first column of the first row; nothing without a row or if it is
  /// NULL.
  template <class... Values>
  Result<std::optional<std::int64_t>> integer(std::string_view sql, const Values&... values);

  /// Runs a sequence of statements that is used once.
  Result<void> execute_script(const char* script);

  std::int64_t last_insert_id() const;
  /// Returns the number of rows that the latest INSERT, UPDATE or DELETE changed.
  std::int64_t changes() const;
  /// Returns the number of rows changed since this connection was opened, including those rolled
  /// back.
  std::int64_t total_changes() const;
  bool in_transaction() const;

  const std::string& path() const { return path_; }

 private:
  friend class Query;

  struct Close {
    void operator()(sqlite3* db) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  /// `name` and `flags` are sqlite3_open_v2()'s; errors name `path`.
  static Result<Connection> open(const std::string& name, int flags, const std::string& path,
                                 int busy_timeout_ms, const Subject& subject);

  Connection(sqlite3* db, std::string path, int busy_timeout_ms, const Subject& subject);

  Result<sqlite3_stmt*> prepared(std::string_view sql);

  /// Returns an error for the user from the result `code` of the failed SQLite call.
  Error error(int code) const;

  /// Is called by SQLite while a query runs.
  struct MemoryGuard;
  struct FreeGuard {
    void operator()(MemoryGuard* guard) const;
  };

  // Members are destroyed in reverse order: statements are finalised before the connection closes.
  std::unique_ptr<MemoryGuard, FreeGuard> guard_;
  std::unique_ptr<sqlite3, Close> db_;
  std::unordered_map<std::string_view, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
  std::string path_;
  int busy_timeout_ms_ = 0;
  Subject subject_;
};

/// One use of a prepared statement. Its destructor resets the statement, so that no read remains
/// open. The connection must outlive it and must not be moved meanwhile.
class Query {
 public:
  Query(Query&& other) noexcept;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query& operator=(Query&&) = delete;
  ~Query();

  /// Steps to the next row; returns false after the last one.
  Result<bool> next();

  /// Binds the parameter `index`, from 1, in addition to those that Connection::query() has bound.
  template <class Value>
  Result<void> bind_more(int index, const Value& value);

  // Columns of the current row, from 0. SQLite converts values of another type by its rules.
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  /// Valid until the next row.
  std::string_view bytes(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;
  std::optional<double> optional_real(int column) const;

 private:
  friend class Connection;

  Query(Connection& db, sqlite3_stmt* statement);

  // Binds the parameter `index` (from 1) and returns SQLite's result code.
  int bind(int index, std::int64_t value);
  int bind(int index, double value);
  int bind(int index, std::string_view value);
  int bind(int index, Bytes value);
  template <class T>
  int bind(int index, const std::optional<T>& value) {
    return value ? bind(index, *value) : bind_null(index);
  }
  int bind_null(int index);

  Connection* db_;
  sqlite3_stmt* statement_;
};

/// A transaction that rolls back unless it is committed.
class Transaction {
 public:
  enum class Kind {
    read,  ///< all reads see one state
    /// Takes the write lock at the begin, so that no later statement finds the store locked.
    write,
  };

  static Result<Transaction> begin(Connection& db, Kind kind);

  Transaction(Transaction&& other) noexcept;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Result<void> commit();

 private:
  explicit Transaction(Connection& db) : db_(&db) {}

  Connection* db_;
};

template <class... Values>
Result<Query> Connection::query(std::string_view sql, const Values&... values) {
  const auto statement = prepared(sql);
  HOCKET_TRY(statement);
  Query query(*this, *statement);
  int index = 0;
  int code = 0;
  ((code = code == 0 ? query.bind(++index, values) : code), ...);
  if (code != 0) return failure(error(code));
  return query;
}

template <class Value>
Result<void> Query::bind_more(int index, const Value& value) {
  const int code = bind(index, value);
  if (code != 0) return failure(db_->error(code));
  return {};
}

template <class... Values>
Result<void> Connection::execute(std::string_view sql, const Values&... values) {
  auto running = query(sql, values...);
  HOCKET_TRY(running);
  for (;;) {
    const auto row = running->next();
    HOCKET_TRY(row);
    if (!*row) return {};
  }
}

template <class... Values>
Result<std::optional<std::int64_t>> Connection::integer(std::string_view sql,
                                                        const Values&... values) {
  auto running = query(sql, values...);
  HOCKET_TRY(running);
  const auto row = running->next();
  HOCKET_TRY(row);
  return *row ? running->optional_integer(0) : std::nullopt;
}

}  // namespace hocket::sqlite
