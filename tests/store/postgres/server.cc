#include "tests/store/postgres/server.h"

#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Prints a file, and ends the program.
[[noreturn]] void give_up(const std::string& why, const fs::path& log) {
  std::fprintf(stderr, "PostgreSQL for tests: %s\n%s\n", why.c_str(), content_of(log).c_str());
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

/// Returns a port of 127.0.0.1 that nobody listens on at this moment.
int unused_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  HOCKET_CHECK(socket >= 0 && bind(socket, any, size) == 0 && getsockname(socket, any, &size) == 0,
               "the system finds a free port");
  close(socket);
  return ntohs(address.sin_port);
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
  write_rules();
  if (!options_.certificate.empty()) {
    write_private("server.crt", options_.certificate);
    write_private("server.key", options_.key);
    std::ofstream(folder_ / "data/postgresql.conf", std::ios::app) << "ssl = on\n";
  }
  start();
}

void PostgresServer::write_rules() const {
  // The first rule that matches counts, and whom none matches is refused.
  std::string rules =
      std::string("local all ") + kSecuredUser + " scram-sha-256\nlocal all all trust\n";
  if (!options_.certificate.empty()) rules += "hostssl all all 127.0.0.1/32 scram-sha-256\n";
  std::ofstream(folder_ / "data/pg_hba.conf") << rules;
}

void PostgresServer::write_private(const std::string& name, const std::string& text) const {
  const fs::path path = folder_ / "data" / name;
  std::ofstream(path) << text;
  HOCKET_CHECK(chmod(path.c_str(), 0600) == 0, "a file can be made private");
  if (geteuid() != 0) return;
  const passwd* user = getpwnam(kServerUser);
  HOCKET_CHECK(chown(path.c_str(), user->pw_uid, user->pw_gid) == 0, "root can give files");
}

PostgresServer::~PostgresServer() {
  if (process_ > 0) end(SIGQUIT);
  std::error_code error;
  fs::remove_all(folder_, error);
}

void PostgresServer::start() {
  const std::string sync = options_.is_durable ? "on" : "off";
  const bool is_first = port_ == 0;
  for (int attempt = 0; attempt < 40; ++attempt) {
    // Another program may take a port before the server does.
    if (is_first && !options_.certificate.empty()) port_ = unused_port();
    if (try_start(sync)) return;
    // The processes of a server that was killed end a moment later, and it does not start before.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  give_up("it does not start", folder_ / "log");
}

bool PostgresServer::try_start(const std::string& sync) {
  const std::string folder = folder_;
  std::vector<std::string> command{program_folder() / "postgres", "-D", folder + "/data", "-k",
                                   folder};
  const std::string address = port_ == 0 ? "" : "127.0.0.1";
  for (const std::string& setting :
       {"listen_addresses=" + address, "fsync=" + sync, "full_page_writes=" + sync,
        std::string("autovacuum=off"), std::string("max_connections=60"),
        std::string("shared_buffers=16MB"),
        // Containers may have little shared memory.
        std::string("dynamic_shared_memory_type=mmap")}) {
    command.insert(command.end(), {"-c", setting});
  }
  if (port_ != 0) command.insert(command.end(), {"-p", std::to_string(port_)});
  process_ = start_program(command, folder_ / "log");
  for (int attempt = 0; attempt < 1200; ++attempt) {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) return false;
    // Says so when it accepts connections.
    const std::string text = content_of(folder_ / "data/postmaster.pid");
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
  const std::string port = port_ == 0 ? "" : "&port=" + std::to_string(port_);
  return "postgresql://" + user + "@/postgres?host=" + folder_.string() + port +
         "&options=-csearch_path%3D" + schema;
}

std::string PostgresServer::log() const {
  return content_of(folder_ / "log");
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
  std::string printed = content_of(output);
  std::error_code error;
  fs::remove(output, error);
  HOCKET_CHECK(status == 0, ("psql: " + printed).c_str());
  return printed;
}

}  // namespace hocket
