#pragma once

// SQLite's C interface as values that clean up after themselves and errors that say what to do.
// This file and its source are the only ones that see sqlite3.h. Not thread-safe: one thread at a
// time uses a connection and everything made from it.

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

/// How an error about the file ends.
inline constexpr char kNameAnother[] = "name another store with --store or HOCKET_STORE";

/// What a file is to its user, for the words and codes of errors about it.
struct Subject {
  std::string_view noun = "store";
  std::string_view advice = kNameAnother;
  /// Of a file whose content is not what SQLite wrote.
  ErrorCode damaged = ErrorCode::unavailable;
};

/// The file may be read, and not written.
Error read_only_error(const std::string& path, const Subject& subject = {});

/// A value that is bound as bytes, not as text.
struct Bytes {
  std::string_view value;
};

class Query;

/// One open database, in a file or in memory. Prepared statements are kept for its lifetime.
class Connection {
 public:
  enum class Mode {
    create,   ///< read and write; creates an empty file when there is none
    read,     ///< reads, beside processes that write
    recover,  ///< read, and what a killed writer left half done is undone, where that is permitted
    immutable,  ///< reads a file that nobody may write meanwhile; takes no locks
  };

  /// `path` must be absolute: SQLite gives some relative names (":memory:", "file:…") a meaning.
  static Result<Connection> open(const std::string& path, Mode mode, int busy_timeout_ms,
                                 const Subject& subject = {});
  /// Opens a new, empty database in memory, which ends with the connection.
  static Result<Connection> open_in_memory();

  /// Prepares `sql` (a literal, or text that outlives the connection) and binds `values` to ?1, ?2,
  /// …. At most one Query of one text may exist at a time.
  template <class... Values>
  Result<Query> query(std::string_view sql, const Values&... values);

  /// Runs `sql`, which returns no rows that matter, to its end.
  template <class... Values>
  Result<void> execute(std::string_view sql, const Values&... values);

  /// The integer in the first column of the first row; none without a row, or when it is NULL.
  template <class... Values>
  Result<std::optional<std::int64_t>> integer(std::string_view sql, const Values&... values);

  /// Runs a sequence of statements that is used once.
  Result<void> execute_script(const char* script);

  std::int64_t last_insert_id() const;
  /// Rows that the latest INSERT, UPDATE or DELETE changed.
  std::int64_t changes() const;
  /// Rows that this connection has changed since it was opened, those rolled back included.
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

  /// What the failed call with SQLite's result `code` means to a user.
  Error error(int code) const;

  // Statements are finalised before the connection closes: members go in reverse order.
  std::unique_ptr<sqlite3, Close> db_;
  std::unordered_map<std::string_view, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
  std::string path_;
  int busy_timeout_ms_ = 0;
  Subject subject_;
};

/// One use of a prepared statement; it is reset at the end, so that no read outlives it. Must not
/// outlive or see a move of its connection.
class Query {
 public:
  Query(Query&& other) noexcept;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query& operator=(Query&&) = delete;
  ~Query();

  /// Steps to the next row; false after the last.
  Result<bool> next();

  // The present row's columns, from 0. Another type than asked for is converted by SQLite's rules.
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

  // Each binds the parameter `index` (from 1) and returns SQLite's result code.
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

/// A transaction that rolls back unless it was committed.
class Transaction {
 public:
  enum class Kind {
    read,   ///< every read sees one state
    write,  ///< takes the write lock now, so that nothing later in it can find the store locked
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
  if (!statement) return failure(statement.error());
  Query query(*this, *statement);
  int index = 0;
  int code = 0;
  ((code = code == 0 ? query.bind(++index, values) : code), ...);
  if (code != 0) return failure(error(code));
  return query;
}

template <class... Values>
Result<void> Connection::execute(std::string_view sql, const Values&... values) {
  auto running = query(sql, values...);
  if (!running) return failure(running.error());
  for (;;) {
    const auto row = running->next();
    if (!row) return failure(row.error());
    if (!*row) return {};
  }
}

template <class... Values>
Result<std::optional<std::int64_t>> Connection::integer(std::string_view sql,
                                                        const Values&... values) {
  auto running = query(sql, values...);
  if (!running) return failure(running.error());
  const auto row = running->next();
  if (!row) return failure(row.error());
  return *row ? running->optional_integer(0) : std::nullopt;
}

}  // namespace hocket::sqlite
