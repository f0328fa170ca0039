#include "tests/cli/program.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "core/base/json.h"

namespace hocket {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void redirect(const std::string& path, int target) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(file, target);
  close(file);
}

/// Takes from the programs that this process will become what lets root ignore files' modes.
void drop_rights_beyond_modes() {
  for (const int right : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) {
    if (prctl(PR_CAPBSET_DROP, right, 0, 0, 0) != 0) _exit(126);
  }
}

}  // namespace

Program::Program(const TemporaryFolder& folder, std::vector<std::string> arguments,
                 const Environment& environment, Rights rights, Streams streams)
    : out_path_(folder.file("stdout")), err_path_(folder.file("stderr")) {
  arguments.insert(arguments.begin(), HOCKET_PROGRAM);
  auto argv = pointers(arguments);
  pid_ = fork();
  if (pid_ != 0) return;
  // Done only here, in the child of a single-threaded test.
  if (chdir(folder.path().c_str()) != 0) _exit(127);
  setenv("HOCKET_STORE", folder.file("store.db").c_str(), 1);
  setenv("TMPDIR", folder.path().c_str(), 1);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  redirect(out_path_, STDOUT_FILENO);
  redirect(err_path_, STDERR_FILENO);
  if (streams.out >= 0) dup2(streams.out, STDOUT_FILENO);
  if (streams.err >= 0) dup2(streams.err, STDERR_FILENO);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(number, SIG_DFL);
  if (rights == Rights::of_modes && geteuid() == 0) drop_rights_beyond_modes();
  execv(argv[0], argv.data());
  _exit(127);
}

Program::~Program() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Program::signal(int number) const {
  kill(pid_, number);
}

std::string Program::output() const {
  return read_file(out_path_).value_or("");
}

std::string Program::errors() const {
  return read_file(err_path_).value_or("");
}

Ended Program::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
          read_file(out_path_).value_or(""), read_file(err_path_).value_or("")};
}

Ended hocket_run(const TemporaryFolder& folder, std::vector<std::string> arguments,
                 const Program::Environment& environment, Rights rights) {
  return Program(folder, std::move(arguments), environment, rights).wait();
}

Fifo::Fifo(std::string path) : path_(std::move(path)) {
  mkfifo(path_.c_str(), 0600);
}

Fifo::~Fifo() {
  if (fd_ >= 0) close(fd_);
}

int Fifo::read_some() {
  if (fd_ < 0) fd_ = open(path_.c_str(), O_RDONLY);  // blocks until there is a writer
  char block[256];
  const ssize_t length = ::read(fd_, block, sizeof block);
  if (length > 0) text_.append(block, static_cast<std::size_t>(length));
  return static_cast<int>(length);
}

std::vector<pid_t> Fifo::read_pids(std::size_t count) {
  while (static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n')) < count &&
         read_some() > 0) {
  }
  std::istringstream stream(text_);
  std::vector<pid_t> pids;
  for (pid_t pid = 0; stream >> pid;) pids.push_back(pid);
  return pids;
}

void Fifo::wait_for_end() {
  while (read_some() > 0) {
  }
}

bool is_alive(pid_t pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

}  // namespace hocket
