#include "tests/store/postgres/server.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

#include "core/base/check.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char* kServerUser = "postgres";

/// Returns the folder with PostgreSQL's programs, of the newest version; empty if there is none.
fs::path program_folder() {
  std::set<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at("/usr/lib/postgresql", error), end; !error && at != end;
       at.increment(error)) {
    if (fs::exists(at->path() / "bin/initdb", error)) found.insert(at->path() / "bin");
  }
  return found.empty() ? fs::path() : *found.rbegin();
}

/// Prints a file, and ends the program.
[[noreturn]] void give_up(const std::string& why, const fs::path& log) {
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::fprintf(stderr, "PostgreSQL for tests: %s\n%s\n", why.c_str(), text.c_str());
  std::abort();
}

/// Starts a program, as the server's user if this one is root, with its output in `log`. It ends
/// with this thread.
pid_t start_program(const std::vector<std::string>& command, const fs::path& log) {
  const passwd* user = geteuid() == 0 ? getpwnam(kServerUser) : nullptr;
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  HOCKET_CHECK(child >= 0, "a process for PostgreSQL can be started");
  if (child > 0) return child;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(96);
  if (geteuid() == 0) {
    if (user == nullptr || initgroups(kServerUser, user->pw_gid) != 0 ||
        setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0) {
      _exit(97);
    }
  }
  // After the change of users, which clears it. SIGQUIT ends a server at once.
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (getppid() != parent) _exit(98);
  // Not the group that a signal from the terminal goes to.
  setpgid(0, 0);
  if (chdir("/") != 0) _exit(99);
  execv(arguments[0], arguments.data());
  _exit(100);
}

int exit_status_of(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, 0) != process) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::optional<std::string> PostgresServer::missing() {
  if (!program_folder().empty()) return std::nullopt;
  return "no PostgreSQL in /usr/lib/postgresql; install Debian's postgresql-15";
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

PostgresServer::PostgresServer(const Options& options) : options_(options) {
  // A socket's path may have 107 bytes, so the folder is not in that of the test.
  std::string name = "/tmp/hocket-postgres-XXXXXX";
  HOCKET_CHECK(mkdtemp(name.data()) != nullptr, "/tmp can be written");
  folder_ = name;
  if (geteuid() == 0) {
    const passwd* user = getpwnam(kServerUser);
    HOCKET_CHECK(user != nullptr, "there is a user postgres");
    HOCKET_CHECK(chown(name.c_str(), user->pw_uid, user->pw_gid) == 0, "root can give folders");
  }
  const std::string programs = program_folder();
  const pid_t made = start_program(
      {programs + "/initdb", "--pgdata=" + name + "/data", "--username=hocket", "--auth=trust",
       "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"},
      folder_ / "log");
  if (exit_status_of(made) != 0) give_up("initdb failed", folder_ / "log");
  require_password_of(kSecuredUser);
  start();
}

void PostgresServer::require_password_of(const std::string& user) const {
  const fs::path rules = folder_ / "data/pg_hba.conf";
  std::ifstream file(rules);
  const std::string others{std::istreambuf_iterator<char>(file), {}};
  file.close();
  // The first rule that matches counts.
  std::ofstream(rules) << "local all " << user << " scram-sha-256\n" << others;
}

PostgresServer::~PostgresServer() {
  if (process_ > 0) end(SIGQUIT);
  std::error_code error;
  fs::remove_all(folder_, error);
}

void PostgresServer::start() {
  const std::string sync = options_.is_durable ? "on" : "off";
  for (int attempt = 0; attempt < 40; ++attempt) {
    if (try_start(sync)) return;
    // The processes of a server that was killed end a moment later, and it does not start before.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  give_up("it does not start", folder_ / "log");
}

bool PostgresServer::try_start(const std::string& sync) {
  const std::string folder = folder_;
  process_ = start_program(
      {program_folder() / "postgres", "-D", folder + "/data", "-k", folder, "-c",
       "listen_addresses=", "-c", "fsync=" + sync, "-c", "full_page_writes=" + sync, "-c",
       "autovacuum=off", "-c", "max_connections=60", "-c", "shared_buffers=16MB", "-c",
       // Containers may have little shared memory.
       "dynamic_shared_memory_type=mmap"},
      folder_ / "log");
  for (int attempt = 0; attempt < 1200; ++attempt) {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) return false;
    // Says so when it accepts connections.
    std::ifstream state(folder_ / "data/postmaster.pid");
    const std::string text{std::istreambuf_iterator<char>(state), {}};
    const bool is_its_own = text.starts_with(std::to_string(process_) + "\n");
    if (is_its_own && text.find("ready") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  give_up("it did not start within 30 s", folder_ / "log");
}

void PostgresServer::end(int signal) {
  ::kill(process_, signal);
  (void)exit_status_of(process_);
  process_ = -1;
}

void PostgresServer::kill() {
  end(SIGKILL);
}

void PostgresServer::stop() {
  end(SIGINT);
}

std::string PostgresServer::uri(const std::string& schema, const std::string& user) const {
  return "postgresql://" + user + "@/postgres?host=" + folder_.string() +
         "&options=-csearch_path%3D" + schema;
}

std::string PostgresServer::new_schema() {
  const std::string schema = "test" + std::to_string(++schemas_);
  sql("public", "CREATE SCHEMA " + schema);
  return uri(schema);
}

std::string PostgresServer::sql(const std::string& schema, const std::string& text) const {
  const std::string output = folder_ / "psql";
  const pid_t psql =
      start_program({program_folder() / "psql", "--no-psqlrc", "--quiet", "--tuples-only",
                     "--no-align", "-v", "ON_ERROR_STOP=1", "-c", text, uri(schema)},
                    output);
  const int status = exit_status_of(psql);
  std::ifstream file(output);
  std::string printed{std::istreambuf_iterator<char>(file), {}};
  file.close();
  std::error_code error;
  fs::remove(output, error);
  HOCKET_CHECK(status == 0, ("psql: " + printed).c_str());
  return printed;
}

}  // namespace hocket
