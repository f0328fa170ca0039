#pragma once

// One connection to PostgreSQL. Every wait has an end: the server's limits on statements and locks,
// the system's on a peer that is silent, and a deadline for everything else. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "store/postgres/libpq.h"
#include "store/sql/database.h"

namespace hocket::postgres {

/// Address and options of a connection.
struct Target {
  Libpq libpq;
  std::string uri;
  std::string shown;               ///< the URI without a password
  int busy_timeout_ms = 0;         ///< for locks, and rounded up to seconds for the connection
  int answer_timeout_ms = 60'000;  ///< for a statement
  bool read_only = false;
};

struct ClearResult {
  decltype(&::PQclear) clear = nullptr;
  void operator()(PGresult* result) const { clear(result); }
};
using PqResult = std::unique_ptr<PGresult, ClearResult>;

class Session {
 public:
  /// Connects. Returns unavailable if the server refuses, cannot be reached, or is silent before
  /// the connection is set up; invalid_argument if the URI or the database is not one that can be
  /// used.
  static Result<std::unique_ptr<Session>> connect(const Target& target);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// Runs statements without parameters, and returns the result of the last one.
  Result<PqResult> execute(const std::string& sql);
  /// Runs a statement with parameters $1, $2, …, which is prepared at its first use. Values are in
  /// PostgreSQL's binary format.
  Result<PqResult> run(const std::string& sql, std::span<const sql::Value> values);
  /// Runs a statement for each list of values without waiting for the single results.
  Result<void> run_each(const std::string& sql, std::span<const std::vector<sql::Value>> lists);
  /// Runs a statement of which next_streamed() returns the rows one by one.
  Result<void> start_stream(const std::string& sql);
  /// Returns a result with the next row; null after the last one.
  Result<PqResult> next_streamed();

  /// Returns the first value of the first row as text, of a result of execute().
  std::string text(const PqResult& result) const;

  /// Reads what the server has sent by itself. Returns false if the connection is lost.
  bool consume_input();
  /// Returns the payload of the next notification that has been read, if there is one.
  std::optional<std::string> next_notification();
  int socket() const;

  bool is_lost() const;
  /// Returns whether this connection was given up because the server was silent for too long. To
  /// connect again would only wait once more.
  bool is_silent() const { return is_silent_; }
  /// Lets this connection count as lost.
  void give_up() { is_given_up_ = true; }
  bool is_in_transaction() const;
  /// SQLSTATE of the last error; empty if it had none.
  const std::string& error_state() const { return error_state_; }
  const Target& target() const { return target_; }

 private:
  Session(const Target& target, PGconn* connection);

  Result<void> configure();
  /// Sends what is to be sent and returns the next result; null if there is none.
  Result<PqResult> await();
  /// Returns the last result of a command, after all of them.
  Result<PqResult> await_all();
  Result<std::string> prepared(const std::string& sql, std::span<const sql::Value> values);
  bool send(const std::string& name, std::span<const sql::Value> values);
  Error error(const PGresult* result);
  Error lost(const std::string& why);

  const Target target_;
  PGconn* const connection_;
  std::unordered_map<std::string, std::string> prepared_;  // names by statements
  std::string error_state_;
  bool is_given_up_ = false;  // after a deadline: the server may still answer
  bool is_silent_ = false;
  /// While the connection is set up: when it must be done.
  std::optional<std::chrono::steady_clock::time_point> ready_by_;
};

/// Returns text on one line, without a line break at its end.
std::string one_line(std::string_view text);

}  // namespace hocket::postgres
