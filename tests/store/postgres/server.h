#pragma once

// A server of PostgreSQL for tests, in a folder of its own, on a socket there and, if a test wants
// that, on a port of this host. One thread.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace hocket {

class PostgresServer {
 public:
  struct Options {
    /// True if committed changes survive the end of the server. Slower.
    bool is_durable = false;
    /// PEM of a certificate and its key. The server also listens on a free port of 127.0.0.1, and
    /// lets those in there who use TLS and know their password. Empty: it has no port.
    std::string certificate = {}, key = {};
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
  /// Returns its port, the same after each start.
  int port() const { return port_; }
  /// Returns what it has written to its log.
  std::string log() const;
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
  void write_rules() const;
  /// Writes a file that only the server may read.
  void write_private(const std::string& name, const std::string& text) const;

  Options options_;
  std::filesystem::path folder_;
  pid_t process_ = -1;
  int port_ = 0;
  int schemas_ = 0;
};

}  // namespace hocket
