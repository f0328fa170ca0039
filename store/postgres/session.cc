#include "store/postgres/session.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

#include "store/store_uri.h"

namespace hocket::postgres {
namespace {

using SteadyTime = std::chrono::steady_clock;

// pg_type.oid of PostgreSQL's own types, which never change.
constexpr Oid kInt8 = 20, kText = 25, kFloat8 = 701, kBytea = 17;
/// The share of a statement's time limit by which a server may answer later before its silence
/// counts as a lost connection.
constexpr int kGraceShare = 6;
/// Time beyond that for connecting in which the connection must be set up.
constexpr std::chrono::seconds kSetUpTime{1};
/// Statements that are sent before their results are read. Results are small; the kernel's buffers
/// hold them.
constexpr std::size_t kBatch = 256;

Oid type_of(const sql::Value& value) {
  switch (value.type) {
    case sql::Value::Type::integer:
      return kInt8;
    case sql::Value::Type::real:
      return kFloat8;
    case sql::Value::Type::text:
      return kText;
    case sql::Value::Type::any_text:
      return kBytea;
  }
  return kText;
}

/// Returns 64 bits in the network's order, as PostgreSQL's binary format has them.
std::array<char, 8> network_order(std::uint64_t bits) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(bits >> (8 * (bytes.size() - 1 - i)));
  }
  return bytes;
}

bool is_success(ExecStatusType status) {
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_SINGLE_TUPLE ||
         status == PGRES_PIPELINE_SYNC;
}

/// Returns the error for a SQLSTATE (PostgreSQL's manual, appendix A), with a remedy for the user.
Error described(const std::string& state, const std::string& message, const Target& target) {
  const std::string store = "store " + target.shown;
  if (state == "55P03" || state == "57014" || state == "40P01" || state == "25P03") {
    return {ErrorCode::timed_out, store + " is locked by another process (waited " +
                                      std::to_string(target.busy_timeout_ms) +
                                      " ms); let that process finish, then try again"};
  }
  if (state == "25006") {
    return {ErrorCode::unavailable, store + " is read-only: " + message};
  }
  if (state == "53100") {
    return {ErrorCode::unavailable, "disk full: " + store +
                                        " could not be written; what was stored before is kept; "
                                        "free some space on the server and try again"};
  }
  return {ErrorCode::unavailable, store + ": " + message};
}

/// Refuses what libpq cannot read. Its own message may quote any part of the URI.
Result<void> check_uri(const Target& target) {
  char* message = nullptr;
  PQconninfoOption* const options = target.libpq.PQconninfoParse(target.uri.c_str(), &message);
  const std::string why = message == nullptr ? "no memory" : one_line(message);
  target.libpq.PQfreemem(message);
  if (options != nullptr) {
    target.libpq.PQconninfoFree(options);
    return {};
  }
  return failure(ErrorCode::invalid_argument,
                 "store " + target.shown + ": " +
                     (target.shown == target.uri
                          ? why
                          : "it is not a URI that libpq can read; see \"Connection URIs\" in "
                            "PostgreSQL's manual"));
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  while (line.ends_with(' ') || line.ends_with('.')) line.pop_back();
  return line;
}

Session::Session(const Target& target, PGconn* connection)
    : target_(target), connection_(connection) {}

Session::~Session() {
  target_.libpq.PQfinish(connection_);
}

Result<std::unique_ptr<Session>> Session::connect(const Target& target) {
  const Libpq& libpq = target.libpq;
  HOCKET_TRY(check_uri(target));
  const std::chrono::seconds limit(std::max(2, (target.busy_timeout_ms + 999) / 1000));
  const std::string seconds = std::to_string(limit.count());
  const auto ready_by = SteadyTime::now() + limit + kSetUpTime;
  // libpq takes the last value of a parameter: those before the URI are defaults, which the URI may
  // change, and those behind it are fixed. A host that is gone without a word is noticed after 11
  // s, before a server that has lost us gives our locks to another one (configure()).
  const std::array<const char*, 9> names = {
      "connect_timeout",  "keepalives_idle",  "keepalives_interval",
      "keepalives_count", "tcp_user_timeout", "fallback_application_name",
      "dbname",           "client_encoding",  nullptr};
  const std::array<const char*, 9> values = {
      seconds.c_str(), "5", "2", "3", "11000", "hocket", target.uri.c_str(), "UTF8", nullptr};
  PGconn* const connection =
      libpq.PQconnectdbParams(names.data(), values.data(), /*expand_dbname=*/1);
  if (connection == nullptr) return failure(ErrorCode::unavailable, "no memory for a connection");
  std::unique_ptr<Session> session(new Session(target, connection));
  libpq.PQsetNoticeProcessor(
      connection, [](void*, const char*) {}, nullptr);
  if (libpq.PQstatus(connection) != CONNECTION_OK) {
    return failure(ErrorCode::unavailable, "store " + target.shown + " cannot be reached: " +
                                               one_line(libpq.PQerrorMessage(connection)));
  }
  libpq.PQsetnonblocking(connection, 1);
  session->ready_by_ = ready_by;
  HOCKET_TRY(session->configure());
  session->ready_by_.reset();
  return session;
}

Result<void> Session::configure() {
  const std::string lock_ms = std::to_string(std::max(1, target_.busy_timeout_ms));
  const std::string settings =
      "SELECT set_config('lock_timeout', '" + lock_ms +
      "', false), "
      "set_config('statement_timeout', '" +
      std::to_string(target_.answer_timeout_ms) +
      "', false), "
      "set_config('idle_in_transaction_session_timeout', '60000', false), "
      "set_config('default_transaction_read_only', '" +
      std::string(target_.read_only ? "on" : "off") +
      "', false), "
      // A server frees what a host that is gone has locked after 19 s; its default is two hours.
      "set_config('tcp_keepalives_idle', '10', false), "
      "set_config('tcp_keepalives_interval', '3', false), "
      "set_config('tcp_keepalives_count', '3', false)";
  HOCKET_TRY(execute(settings));
  // Acknowledged changes are on the disk, also where the database was told otherwise.
  HOCKET_TRY(
      execute("SELECT set_config('synchronous_commit', 'on', false) "
              "WHERE current_setting('synchronous_commit') = 'off'"));
  // A server may end sessions that do nothing, which listeners and holders of claims do for long.
  HOCKET_TRY(
      execute("SELECT set_config(name, '0', false) FROM pg_settings "
              "WHERE name = 'idle_session_timeout'"));
  const auto encoding = execute("SELECT current_setting('server_encoding')");
  HOCKET_TRY(encoding);
  if (text(*encoding) == "UTF8") return {};
  return failure(ErrorCode::invalid_argument,
                 "store " + target_.shown + ": the database has the encoding " + text(*encoding) +
                     "; create one with ENCODING 'UTF8'");
}

Result<PqResult> Session::execute(const std::string& sql) {
  error_state_.clear();
  if (target_.libpq.PQsendQuery(connection_, sql.c_str()) != 1) return failure(error(nullptr));
  return await_all();
}

Result<PqResult> Session::run(const std::string& sql, std::span<const sql::Value> values) {
  const auto name = prepared(sql, values);
  HOCKET_TRY(name);
  if (!send(*name, values)) return failure(error(nullptr));
  return await_all();
}

Result<std::string> Session::prepared(const std::string& sql, std::span<const sql::Value> values) {
  error_state_.clear();
  const auto known = prepared_.find(sql);
  if (known != prepared_.end()) return known->second;
  std::vector<Oid> types;
  for (const sql::Value& value : values) types.push_back(type_of(value));
  const std::string name = "hocket" + std::to_string(prepared_.size());
  if (target_.libpq.PQsendPrepare(connection_, name.c_str(), sql.c_str(),
                                  static_cast<int>(types.size()), types.data()) != 1) {
    return failure(error(nullptr));
  }
  HOCKET_TRY(await_all());
  prepared_.emplace(sql, name);
  return name;
}

bool Session::send(const std::string& name, std::span<const sql::Value> values) {
  std::vector<std::array<char, 8>> numbers(values.size());
  std::vector<const char*> pointers(values.size());
  std::vector<int> lengths(values.size());
  const std::vector<int> formats(values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const sql::Value& value = values[i];
    if (value.is_null) continue;
    if (value.type == sql::Value::Type::integer) {
      numbers[i] = network_order(static_cast<std::uint64_t>(value.integer));
    } else if (value.type == sql::Value::Type::real) {
      numbers[i] = network_order(std::bit_cast<std::uint64_t>(value.real));
    } else {
      pointers[i] = value.text.empty() ? "" : value.text.data();
      lengths[i] = static_cast<int>(value.text.size());
      continue;
    }
    pointers[i] = numbers[i].data();
    lengths[i] = static_cast<int>(numbers[i].size());
  }
  return target_.libpq.PQsendQueryPrepared(connection_, name.c_str(),
                                           static_cast<int>(values.size()), pointers.data(),
                                           lengths.data(), formats.data(), /*resultFormat=*/1) == 1;
}

Result<void> Session::run_each(const std::string& sql,
                               std::span<const std::vector<sql::Value>> lists) {
  const Libpq& libpq = target_.libpq;
  while (!lists.empty()) {
    const auto batch = lists.first(std::min(kBatch, lists.size()));
    const auto name = prepared(sql, batch.front());
    HOCKET_TRY(name);
    if (libpq.PQenterPipelineMode(connection_) != 1) return failure(error(nullptr));
    for (const auto& values : batch) {
      if (!send(*name, values)) return failure(lost("a statement could not be sent"));
    }
    if (libpq.PQpipelineSync(connection_) != 1) return failure(error(nullptr));
    std::optional<Error> first;
    // For each statement a result and null, then one for the synchronisation.
    for (bool is_synchronised = false; !is_synchronised;) {
      auto result = await();
      HOCKET_TRY(result);
      if (!*result) continue;
      const ExecStatusType status = libpq.PQresultStatus(result->get());
      is_synchronised = status == PGRES_PIPELINE_SYNC;
      if (!first && !is_success(status)) first = error(result->get());
    }
    if (libpq.PQexitPipelineMode(connection_) != 1) return failure(lost("it is out of step"));
    if (first) return failure(*first);
    lists = lists.subspan(batch.size());
  }
  return {};
}

Result<void> Session::start_stream(const std::string& sql) {
  const auto name = prepared(sql, {});
  HOCKET_TRY(name);
  if (!send(*name, {}) || target_.libpq.PQsetSingleRowMode(connection_) != 1) {
    return failure(error(nullptr));
  }
  return {};
}

Result<PqResult> Session::next_streamed() {
  auto result = await();
  HOCKET_TRY(result);
  if (!*result) return result;
  const ExecStatusType status = target_.libpq.PQresultStatus(result->get());
  if (status == PGRES_SINGLE_TUPLE) return result;
  const std::optional<Error> problem =
      is_success(status) ? std::nullopt : std::optional(error(result->get()));
  HOCKET_TRY(await_all());  // the null behind the last result
  if (problem) return failure(*problem);
  return PqResult(nullptr, {target_.libpq.PQclear});
}

Result<PqResult> Session::await() {
  const Libpq& libpq = target_.libpq;
  const std::int64_t patience_ms =
      target_.answer_timeout_ms + target_.answer_timeout_ms / kGraceShare;
  const auto deadline =
      ready_by_.value_or(SteadyTime::now() + std::chrono::milliseconds(patience_ms));
  for (;;) {
    const int unsent = libpq.PQflush(connection_);
    if (unsent < 0) return failure(error(nullptr));
    if (unsent == 0 && libpq.PQisBusy(connection_) == 0) break;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyTime::now());
    pollfd ready{libpq.PQsocket(connection_),
                 static_cast<short>(POLLIN | (unsent > 0 ? POLLOUT : 0)), 0};
    if (left.count() <= 0 || ready.fd < 0) {
      is_silent_ = left.count() <= 0;
      return failure(lost("the server does not answer"));
    }
    (void)::poll(&ready, 1, static_cast<int>(left.count()));
    if (ready.revents != 0 && libpq.PQconsumeInput(connection_) != 1) {
      return failure(error(nullptr));
    }
  }
  return PqResult(libpq.PQgetResult(connection_), {libpq.PQclear});
}

Result<PqResult> Session::await_all() {
  PqResult last(nullptr, {target_.libpq.PQclear});
  std::optional<Error> problem;
  for (;;) {
    auto result = await();
    HOCKET_TRY(result);
    if (!*result) break;
    if (!is_success(target_.libpq.PQresultStatus(result->get()))) {
      if (!problem) problem = error(result->get());
      if (is_lost()) break;
    }
    last = std::move(*result);
  }
  if (problem) return failure(*problem);
  return last;
}

std::string Session::text(const PqResult& result) const {
  if (!result || target_.libpq.PQntuples(result.get()) == 0) return {};
  return target_.libpq.PQgetvalue(result.get(), 0, 0);
}

bool Session::consume_input() {
  if (is_lost()) return false;
  for (;;) {
    pollfd ready{socket(), POLLIN, 0};
    if (ready.fd < 0) return false;
    if (::poll(&ready, 1, 0) <= 0 || ready.revents == 0) return true;
    if (target_.libpq.PQconsumeInput(connection_) != 1 || is_lost()) {
      is_given_up_ = true;
      return false;
    }
  }
}

std::optional<std::string> Session::next_notification() {
  PGnotify* const notification = target_.libpq.PQnotifies(connection_);
  if (notification == nullptr) return std::nullopt;
  std::string payload = notification->extra;
  target_.libpq.PQfreemem(notification);
  return payload;
}

int Session::socket() const {
  return target_.libpq.PQsocket(connection_);
}

bool Session::is_lost() const {
  return is_given_up_ || target_.libpq.PQstatus(connection_) != CONNECTION_OK;
}

bool Session::is_in_transaction() const {
  return target_.libpq.PQtransactionStatus(connection_) != PQTRANS_IDLE;
}

Error Session::error(const PGresult* result) {
  const char* state =
      result == nullptr ? nullptr : target_.libpq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = result == nullptr
                            ? nullptr
                            : target_.libpq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  error_state_ = state == nullptr ? "" : state;
  const std::string message =
      one_line(primary == nullptr ? target_.libpq.PQerrorMessage(connection_) : primary);
  if (is_lost()) return lost(message);
  return described(error_state_, message, target_);
}

Error Session::lost(const std::string& why) {
  is_given_up_ = true;
  return {ErrorCode::unavailable,
          "the connection to store " + target_.shown + " was lost: " + why + "; try again"};
}

}  // namespace hocket::postgres
