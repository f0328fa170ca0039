#pragma once

// A server of PostgreSQL for tests, in a folder of its own, on a socket there and on no port. One
// thread.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace hocket {

class PostgresServer {
 public:
  struct Options {
    /// Whether what is committed survives the end of the server. Slower.
    bool is_durable = false;
  };

  /// A user that is let in with a password alone, once a test has made it.
  static constexpr const char* kSecuredUser = "secured";

  /// Makes an empty database and starts a server, which ends with this object, or with the thread
  /// that made it. PostgreSQL refuses to run as root, so a test that is root runs it as the user
  /// "postgres". Ends the test program if that fails.
  explicit PostgresServer(const Options& options);
  PostgresServer() : PostgresServer(Options{}) {}
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// Returns why no server can be started on this machine, if its programs are not there.
  static std::optional<std::string> missing();

  /// The server of this program, started at the first call.
  static PostgresServer& shared();

  /// Returns a URI of the database with this search_path, for `user`.
  std::string uri(const std::string& schema, const std::string& user = "hocket") const;
  /// Makes a schema that no test has had, and returns its URI.
  std::string new_schema();
  /// Runs SQL with psql in `schema`, and returns what it prints.
  std::string sql(const std::string& schema, const std::string& text) const;

  /// Ends the server: as a crash does, or once its sessions are closed.
  void kill();
  void stop();
  void start();

 private:
  bool try_start(const std::string& sync);
  void end(int signal);
  void require_password_of(const std::string& user) const;

  Options options_;
  std::filesystem::path folder_;
  pid_t process_ = -1;
  int schemas_ = 0;
};

}  // namespace hocket
