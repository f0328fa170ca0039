#include "store/sqlite/connection.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/memory_budget.h"
#include "core/files/regular_file.h"

namespace hocket::sqlite {
namespace {

// Disables SQLite's mutexes: only one thread at a time uses a Connection.
constexpr int kCommonFlags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;

/// Returns `path` as an SQLite URI (https://www.sqlite.org/uri.html) of a file that does not
/// change.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file://";
  for (const char c : path) {
    switch (c) {
      case '%':
        uri += "%25";
        break;
      case '?':
        uri += "%3f";
        break;
      case '#':
        uri += "%23";
        break;
      default:
        uri += c;
    }
  }
  return uri + "?immutable=1";
}

/// Puts text on one line for an error message; text from a damaged file may hold any bytes.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

bool means_disk_full(int code, int system_errno) {
  if ((code & 0xff) == SQLITE_FULL) return true;
  return (code & 0xff) == SQLITE_IOERR &&
         (system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG);
}

/// Describes an error; `code` is an extended result code, `detail` SQLite's message.
Error describe(int code, int system_errno, const std::string& detail, const std::string& path,
               int busy_timeout_ms, const Subject& subject) {
  const std::string store = std::string(subject.noun) + " " + path;
  const std::string advice(subject.advice);
  const std::string because = system_errno != 0 ? std::strerror(system_errno) : detail;
  if (means_disk_full(code, system_errno)) {
    return {
        ErrorCode::unavailable,
        "disk full: " + store +
            " could not be written; what was stored before is kept; "
            "free some space and try again" +
            (system_errno == EFBIG ? " (the limit of a file's size, ulimit -f, is reached)" : "")};
  }
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::timed_out, store + " is locked by another process (waited " +
                                        std::to_string(busy_timeout_ms) +
                                        " ms); end that process or let it finish, then try again"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return read_only_error(path, subject);
    case SQLITE_CANTOPEN:
      return {ErrorCode::unavailable, store + " cannot be opened: " + because +
                                          "; check the path and its permissions, or " + advice};
    case SQLITE_IOERR:
      return {ErrorCode::unavailable, store + " cannot be read or written: " + because};
    case SQLITE_NOTADB:
      return {ErrorCode::invalid_argument, path + " is not a " + std::string(subject.noun) +
                                               ": it is not an SQLite database; " + advice};
    case SQLITE_CORRUPT:
      return {subject.damaged, store + " is damaged (" + detail +
                                   "); save what is left with sqlite3's .recover command, or " +
                                   advice};
    default:
      return {ErrorCode::unavailable, store + ": " + detail};
  }
}

}  // namespace

Error read_only_error(const std::string& path, const Subject& subject) {
  return {ErrorCode::unavailable, std::string(subject.noun) + " " + path +
                                      " is read-only; make the file and its folder writable, or " +
                                      std::string(subject.advice)};
}

struct Connection::MemoryGuard {
  MemoryBudget budget = MemoryBudget::of_process();
  std::optional<std::string> problem = {};

  static int look(void* self) {
    auto& guard = *static_cast<MemoryGuard*>(self);
    if (!guard.problem) guard.problem = guard.budget.problem();
    return guard.problem ? 1 : 0;
  }
};

void Connection::FreeGuard::operator()(MemoryGuard* guard) const {
  delete guard;
}

void Connection::bound_memory() {
  constexpr int kMostCellBytes = 16 << 20, kOperationsBetweenLooks = 5'000;
  sqlite3_limit(db_.get(), SQLITE_LIMIT_LENGTH, kMostCellBytes);
  guard_.reset(new MemoryGuard);
  sqlite3_progress_handler(db_.get(), kOperationsBetweenLooks, MemoryGuard::look, guard_.get());
}

void Connection::Close::operator()(sqlite3* db) const {
  sqlite3_close_v2(db);
}

void Connection::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Connection::Connection(sqlite3* db, std::string path, int busy_timeout_ms, const Subject& subject)
    : db_(db), path_(std::move(path)), busy_timeout_ms_(busy_timeout_ms), subject_(subject) {}

Result<Connection> Connection::open(const std::string& path, Mode mode, int busy_timeout_ms,
                                    const Subject& subject) {
  HOCKET_CHECK(path.starts_with('/'), "SQLite reads some relative paths as something else");
  // SQLite would wait for a pipe, and follow a link to anywhere.
  for (const char* beside : {"-journal", "-wal", "-shm"}) {
    if (mode != Mode::immutable) HOCKET_TRY(check_regular_or_missing(path + beside));
  }
  int flags = kCommonFlags;
  if (mode == Mode::create) flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  // SQLite falls back to read-only where writing is not permitted.
  if (mode == Mode::recover) flags |= SQLITE_OPEN_READWRITE;
  if (mode == Mode::read || mode == Mode::immutable) flags |= SQLITE_OPEN_READONLY;
  std::string name = path;
  if (mode == Mode::immutable) {
    flags |= SQLITE_OPEN_URI;
    name = immutable_uri(path);
  }
  return open(name, flags, path, busy_timeout_ms, subject);
}

Result<Connection> Connection::open_in_memory() {
  constexpr int kFlags = kCommonFlags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  return open(":memory:", kFlags, ":memory:", 0, {});
}

Result<Connection> Connection::open(const std::string& name, int flags, const std::string& path,
                                    int busy_timeout_ms, const Subject& subject) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  HOCKET_CHECK(handle != nullptr, "no memory for an SQLite connection");
  Connection db(handle, path, busy_timeout_ms, subject);
  if (code != SQLITE_OK) return failure(db.error(code));
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  return db;
}

Error Connection::error(int code) const {
  if (guard_ && guard_->problem)
    return {ErrorCode::invalid_argument,
            std::string(subject_.noun) + " " + path_ + ": " + *guard_->problem};
  // SQLite keeps the system's error, except at a commit.
  const int last_errno = errno;
  const int kept_errno = sqlite3_system_errno(db_.get());
  return describe(code, kept_errno != 0 ? kept_errno : last_errno,
                  one_line(sqlite3_errmsg(db_.get())), path_, busy_timeout_ms_, subject_);
}

Result<sqlite3_stmt*> Connection::prepared(std::string_view sql) {
  auto& statement = statements_[sql];
  if (!statement) {
    sqlite3_stmt* compiled = nullptr;
    const int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &compiled, nullptr);
    if (code != SQLITE_OK) return failure(error(code));
    statement.reset(compiled);
  }
  HOCKET_CHECK(sqlite3_stmt_busy(statement.get()) == 0, "a statement is used twice at once");
  return statement.get();
}

Result<void> Connection::execute_script(const char* script) {
  const int code = sqlite3_exec(db_.get(), script, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(error(code));
  return {};
}

std::int64_t Connection::last_insert_id() const {
  return sqlite3_last_insert_rowid(db_.get());
}

std::int64_t Connection::changes() const {
  return sqlite3_changes64(db_.get());
}

std::int64_t Connection::total_changes() const {
  return sqlite3_total_changes64(db_.get());
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(db_.get()) == 0;
}

Query::Query(Connection& db, sqlite3_stmt* statement) : db_(&db), statement_(statement) {}

Query::Query(Query&& other) noexcept
    : db_(other.db_), statement_(std::exchange(other.statement_, nullptr)) {}

Query::~Query() {
  // A reset repeats the result of the last step, which is ignored. A moved-from query holds null,
  // which sqlite3_reset() accepts.
  sqlite3_reset(statement_);
}

Result<bool> Query::next() {
  errno = 0;  // clears older errors for error()
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure(db_->error(code));
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Query::real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string Query::text(int column) const {
  // Gets the pointer first: sqlite3_column_text() may convert the value, which changes its size.
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Query::bytes(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::optional<std::int64_t> Query::optional_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}

std::optional<double> Query::optional_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}

int Query::bind(int index, std::int64_t value) {
  return sqlite3_bind_int64(statement_, index, value);
}

int Query::bind(int index, double value) {
  return sqlite3_bind_double(statement_, index, value);
}

int Query::bind(int index, std::string_view value) {
  // A null pointer would bind NULL.
  return sqlite3_bind_text64(statement_, index, value.empty() ? "" : value.data(), value.size(),
                             SQLITE_TRANSIENT, SQLITE_UTF8);
}

int Query::bind(int index, Bytes value) {
  return sqlite3_bind_blob64(statement_, index, value.value.empty() ? "" : value.value.data(),
                             value.value.size(), SQLITE_TRANSIENT);
}

int Query::bind_null(int index) {
  return sqlite3_bind_null(statement_, index);
}

Result<Transaction> Transaction::begin(Connection& db, Kind kind) {
  HOCKET_TRY(db.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(db);
}

Transaction::Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}

Transaction::~Transaction() {
  // SQLite rolls back by itself after some errors, such as a full disk. If ROLLBACK fails, the
  // transaction ends with the connection.
  if (db_ != nullptr && db_->in_transaction()) (void)db_->execute("ROLLBACK");
}

Result<void> Transaction::commit() {
  return db_->execute("COMMIT");
}

}  // namespace hocket::sqlite
