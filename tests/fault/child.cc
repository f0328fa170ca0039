#include "tests/fault/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string_view>
#include <thread>

#include "core/base/check.h"
#include "core/base/json.h"

namespace hocket {
namespace {

using Steady = std::chrono::steady_clock;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!added.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

void redirect(const std::string& path, int target) {
  const char* name = path.empty() ? "/dev/null" : path.c_str();
  const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || dup2(file, target) < 0) _exit(126);
}

bool write_file(const char* path, std::string_view text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool written =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) close(file);
  return written;
}

/// Texts that fork's child needs and may not make itself.
struct Texts {
  std::string disk_size, users_of, mounts_of;
  std::string own_user = std::to_string(geteuid()) + " " + std::to_string(geteuid()) + " 1";
  std::string own_group = std::to_string(getegid()) + " " + std::to_string(getegid()) + " 1";
};

/// Gives this process mounts of its own. A user gets them in a namespace in which the user keeps
/// its id.
bool own_mounts(const Texts& texts) {
  if (geteuid() == 0) return unshare(CLONE_NEWNS) == 0;
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", texts.own_user) &&
         write_file("/proc/self/gid_map", texts.own_group);
}

/// Enters the namespace that a file of /proc/PID/ns names.
bool enter(const std::string& name) {
  const int file = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  return file >= 0 && setns(file, 0) == 0;
}

/// Uses only calls that are allowed between fork and exec in a program with threads.
void prepare(const ChildOptions& options, const Texts& texts) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  redirect(options.out_path, STDOUT_FILENO);
  redirect(options.err_path, STDERR_FILENO);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  if (options.file_bytes) {
    const rlimit limit = {*options.file_bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);  // makes the write fail instead
  }
  if (options.mounts_of != 0) {
    if (geteuid() != 0 && !enter(texts.users_of)) _exit(125);
    if (!enter(texts.mounts_of)) _exit(125);
  }
  if (!options.disk_folder.empty()) {
    if (!own_mounts(texts) || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", options.disk_folder.c_str(), "tmpfs", 0, texts.disk_size.c_str()) != 0) {
      _exit(125);
    }
  }
}

}  // namespace

Child::Child(const ChildOptions& options) {
  auto arguments = options.argv;
  auto variables = environment_with(options.environment);
  const auto argv = pointers(arguments), envp = pointers(variables);
  const std::string namespaces = "/proc/" + std::to_string(options.mounts_of) + "/ns/";
  const Texts texts{.disk_size = "size=" + std::to_string(options.disk_bytes),
                    .users_of = namespaces + "user",
                    .mounts_of = namespaces + "mnt"};
  pid_ = fork();
  HOCKET_CHECK(pid_ >= 0, "a process can be started");
  if (pid_ != 0) return;
  prepare(options, texts);
  execve(argv[0], argv.data(), envp.data());
  _exit(127);
}

Child::~Child() {
  if (status_) return;
  signal(SIGKILL);
  wait(std::chrono::minutes(1));
}

void Child::signal(int number) const {
  if (!status_) kill(pid_, number);
}

std::optional<int> Child::wait(std::chrono::milliseconds limit) {
  if (status_) return status_;
  pollfd ended = {static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)), POLLIN, 0};
  HOCKET_CHECK(ended.fd >= 0, "a child that was not waited for is there");
  const auto until = Steady::now() + limit;
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    ready = poll(&ended, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  } while (ready < 0 && errno == EINTR);
  close(ended.fd);
  int status = 0;
  if (ready <= 0 || waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

char process_state(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const auto name_end = text.rfind(") ");
  return name_end == std::string::npos ? '\0' : text[name_end + 2];
}

std::int64_t status_kb(pid_t pid, const std::string& field) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1));
  }
  return 0;
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const auto until = Steady::now() + limit;
  while (!condition()) {
    if (Steady::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace hocket
