#include "store/sqlite/database.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "core/base/clock.h"
#include "core/files/owned_path.h"
#include "core/files/private_file.h"
#include "store/sqlite/schema.h"

namespace hocket::sqlite {
namespace {

namespace fs = std::filesystem;

std::int64_t newest_version() {
  return static_cast<std::int64_t>(migration_steps().size());
}

/// Reads the version in one transaction. This is the first read of a connection, which fails for a
/// file that is no database or cannot be read.
Result<std::int64_t> read_version(Connection& db) {
  const auto transaction = Transaction::begin(db, Transaction::Kind::read);
  HOCKET_TRY(transaction);
  return schema_version(db, newest_version());
}

/// Configures a connection, not the file. Prevents an untrusted file from making SQLite run code
/// named in its schema, and checks the sizes that its pages claim.
Result<void> configure(Connection& db) {
  return db.execute_script(
      "PRAGMA trusted_schema = OFF;"
      "PRAGMA cell_size_check = ON;"
      "PRAGMA foreign_keys = ON;"
      // A finished trial survives a power cut; the wait is short compared to a trial.
      "PRAGMA synchronous = FULL;");
}

/// Switches to WAL mode, in which readers and writers do not block each other. If two processes
/// switch a new file at once, SQLite refuses one of them immediately, since waiting would deadlock.
Result<void> switch_to_wal(Connection& db, int busy_timeout_ms) {
  const SteadyClock clock;
  const std::int64_t deadline_ns = clock.now_ns() + busy_timeout_ms * std::int64_t{1'000'000};
  for (;;) {
    auto ok = db.execute("PRAGMA journal_mode = WAL");
    if (ok || ok.error().code != ErrorCode::timed_out || clock.now_ns() >= deadline_ns) return ok;
    clock.sleep_until_ns(clock.now_ns() + 1'000'000);
  }
}

bool may_write(const std::string& path) {
  return access(path.c_str(), W_OK) == 0 && access(fs::path(path).parent_path().c_str(), W_OK) == 0;
}

Result<Connection> open_for_writing(const std::string& path, int busy_timeout_ms) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (const auto ok = create_private_folders(folder.string()); !ok) {
    return failure(ErrorCode::unavailable, ok.error().message + ", for the store; " + kNameAnother);
  }
  // SQLite would open it read-only without an error, and leave files that keep its owner from
  // writing.
  if (fs::exists(path, error) && !may_write(path)) return failure(read_only_error(path));
  // SQLite gives the files that it adds the mode of this one. mknod() opens no descriptor, whose
  // close would release the locks that this process has on the file; it leaves an existing file.
  ::mknod(path.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0);
  auto db = Connection::open(path, Connection::Mode::create, busy_timeout_ms);
  if (!db) return db;
  HOCKET_TRY(configure(*db));
  // Checked before any write: another program's file must stay unchanged.
  const auto version = read_version(*db);
  HOCKET_TRY(version);
  HOCKET_TRY(switch_to_wal(*db, busy_timeout_ms));
  if (*version < newest_version()) {
    HOCKET_TRY(migrate(*db, migration_steps()));
  }
  return db;
}

Result<Connection> try_reading(const std::string& path, Connection::Mode mode,
                               int busy_timeout_ms) {
  auto db = Connection::open(path, mode, busy_timeout_ms);
  if (!db) return db;
  HOCKET_TRY(configure(*db));
  const auto version = read_version(*db);
  HOCKET_TRY(version);
  if (*version == 0) {
    return failure(ErrorCode::not_found, "the store " + path + " is empty; `hocket tune` fills it");
  }
  if (*version < newest_version()) {
    return failure(ErrorCode::invalid_argument,
                   "store " + path + " has the older version " + std::to_string(*version) +
                       "; `hocket tune` brings it to version " + std::to_string(newest_version()));
  }
  return db;
}

/// Opens a store for reading. SQLite coordinates readers and writers through two files beside the
/// database (-wal, -shm), which even a reader creates. A reader without write permission must not
/// create them: in a read-only folder it cannot, and elsewhere they would keep the owner from
/// writing. Without a -wal file no process has the database open and it is complete, so it is read
/// as immutable; with one, ignoring it would hide the latest trials.
Result<Connection> open_for_reading(const std::string& path, int busy_timeout_ms) {
  std::error_code error;
  const bool has_index = fs::exists(path + "-shm", error);
  const auto wal_bytes = fs::file_size(path + "-wal", error);
  const bool has_wal = error != std::errc::no_such_file_or_directory;
  const bool is_empty_wal = !error && wal_bytes == 0;
  if (may_write(path) || (has_wal && has_index)) {
    return try_reading(path, Connection::Mode::read, busy_timeout_ms);
  }
  if (!has_wal || is_empty_wal) {
    return try_reading(path, Connection::Mode::immutable, busy_timeout_ms);
  }
  return failure(ErrorCode::unavailable,
                 "the latest changes to store " + path + " are in " + path +
                     "-wal, which cannot be read without permission to write; copy both files to "
                     "a folder of your own, or let their owner run a hocket command on it");
}

}  // namespace

Result<Connection> open_database(const std::string& path, bool read_only, int busy_timeout_ms) {
  if (path.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "the store's path is empty; name a file with --store or HOCKET_STORE");
  }
  std::error_code error;
  // Resolves links as SQLite does, which keeps its other files beside a link's target.
  const std::string absolute = fs::weakly_canonical(fs::absolute(path, error), error).string();
  if (error) {
    return failure(ErrorCode::unavailable, "store " + path + ": " + error.message());
  }
  const auto status = fs::status(absolute, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return failure(ErrorCode::invalid_argument,
                   "store " + absolute + " is not a file; " + kNameAnother);
  }
  if (const auto ok = check_not_everybodys(absolute); !ok)
    return failure(ok.error().in("store " + absolute));
  if (!read_only) return open_for_writing(absolute, busy_timeout_ms);
  if (status.type() == fs::file_type::not_found) {
    return failure(ErrorCode::not_found, "there is no store " + absolute +
                                             "; `hocket tune` or a profile creates it, or " +
                                             kNameAnother);
  }
  return open_for_reading(absolute, busy_timeout_ms);
}

Result<Connection> open_database_in_memory() {
  auto db = Connection::open_in_memory();
  if (!db) return db;
  HOCKET_TRY(configure(*db));
  HOCKET_TRY(migrate(*db, migration_steps()));
  return db;
}

}  // namespace hocket::sqlite
