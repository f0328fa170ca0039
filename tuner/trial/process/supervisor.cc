#include "tuner/trial/process/supervisor.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

namespace hocket {
namespace {

/// Time after which a process that SIGKILL has not ended is stuck in the kernel.
constexpr int kKillLimitMs = 30'000;
constexpr int kKillRepeatMs = 50;

void send_message(int control_fd, SupervisorMessage::Kind kind, int value, long peak_kib = 0,
                  bool had_left = false) {
  const SupervisorMessage message{kind, value, peak_kib, had_left};
  // Fails if the reader is gone, in which case the message is not needed.
  [[maybe_unused]] const auto sent =
      send(control_fd, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

long now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

/// Closes all descriptors except the three given, so that the pipes and sockets of other commands
/// are not kept open here.
void close_others(int a, int b, int c) {
  int kept[] = {a, b, c};
  std::sort(kept, kept + 3);
  unsigned from = 3;
  for (const int fd : kept) {
    if (static_cast<unsigned>(fd) > from) close_range(from, static_cast<unsigned>(fd) - 1, 0);
    from = static_cast<unsigned>(fd) + 1;
  }
  close_range(from, ~0U, 0);
}

[[noreturn]] void execute(const SupervisedCommand& command, pid_t supervisor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(127);
  setpgid(0, 0);
  dup2(command.stdout_fd, STDOUT_FILENO);
  dup2(command.stderr_fd, STDERR_FILENO);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (command.working_directory && chdir(command.working_directory) != 0) {
    send_message(command.control_fd, SupervisorMessage::chdir_failed, errno);
    _exit(127);
  }
  execvpe(command.argv[0], command.argv, command.environment);
  send_message(command.control_fd, SupervisorMessage::start_failed, errno);
  _exit(127);
}

/// Returns the parent of `pid`, or 0 if it is gone. Reads /proc/PID/stat: "PID (NAME) STATE PPID
/// …", where NAME may contain any character.
pid_t parent_of(const char* pid) {
  char path[64] = "/proc/";
  std::strncat(path, pid, 20);
  std::strcat(path, "/stat");
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[512];
  const ssize_t length = ::read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* name_end = std::strrchr(text, ')');
  return name_end && std::strlen(name_end) > 4 ? std::atoi(name_end + 4) : 0;
}

void write_number(pid_t number, char* text) {
  char reversed[16];
  int length = 0;
  for (; number > 0; number /= 10) reversed[length++] = static_cast<char>('0' + number % 10);
  while (length > 0) *text++ = reversed[--length];
  *text = '\0';
}

bool descends_from(pid_t ancestor, const char* pid) {
  char current[16];
  // The tree may change during the walk; the bound keeps the walk finite.
  for (pid_t parent = parent_of(pid), steps = 0; parent > 1 && steps < 10'000; ++steps) {
    if (parent == ancestor) return true;
    write_number(parent, current);
    parent = parent_of(current);
  }
  return false;
}

/// Sends `number` to every descendant of this process.
void signal_descendants(int number) {
  const int directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  const pid_t self = getpid();
  alignas(dirent64) char entries[8192];
  for (;;) {
    // Uses the system call directly: readdir() allocates.
    const long length = syscall(SYS_getdents64, directory, entries, sizeof entries);
    if (length <= 0) break;
    for (long at = 0; at < length;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const pid_t pid = std::atoi(entry->d_name);
      if (pid > 1 && descends_from(self, entry->d_name)) kill(pid, number);
    }
  }
  close(directory);
}

class Supervisor {
 public:
  Supervisor(const SupervisedCommand& command, pid_t child, int child_events)
      : command_(command), child_(child), child_events_(child_events) {}

  /// Waits for the command or for a request, then ends every remaining process.
  void run() {
    while (!child_ended_ && !stop_requested_) wait(-1);
    bool left = !reap();
    const bool had_left = left && child_ended_ && !stop_requested_;
    if (left) left = !end_tree();
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    send_message(command_.control_fd, SupervisorMessage::ended, left ? 1 : 0, usage.ru_maxrss,
                 had_left);
  }

 private:
  /// Ends all descendants; returns true if none is left.
  bool end_tree() {
    signal_descendants(SIGTERM);
    bool orphans_told = child_ended_;
    const long grace_end = now_ms() + command_.grace_ms;
    while (!parent_gone_) {
      const long remaining = grace_end - now_ms();
      if (remaining <= 0) break;
      if (wait(static_cast<int>(remaining))) return true;
      // A process that the command forked while it was being signalled outlives it without a
      // signal.
      if (child_ended_ && !std::exchange(orphans_told, true)) signal_descendants(SIGTERM);
    }
    const long limit = now_ms() + kKillLimitMs;
    while (now_ms() < limit) {
      // Repeated: orphans arrive here, and a process may fork during the scan.
      signal_descendants(SIGKILL);
      if (wait(kKillRepeatMs)) return true;
    }
    return false;
  }

  /// Waits for a child's end, a request, or `timeout_ms`; returns whether no child is left.
  bool wait(int timeout_ms) {
    pollfd events[] = {{child_events_, POLLIN, 0},
                       {parent_gone_ ? -1 : command_.control_fd, POLLIN, 0}};
    poll(events, 2, timeout_ms);
    if (events[0].revents) {
      signalfd_siginfo ignored;
      [[maybe_unused]] const auto length = read(child_events_, &ignored, sizeof ignored);
    }
    if (events[1].revents) {
      char request;
      stop_requested_ = true;
      // End of file, or a reset if the parent died with a message unread.
      parent_gone_ = recv(command_.control_fd, &request, 1, MSG_DONTWAIT) <= 0;
    }
    return reap();
  }

  /// Reaps ended children; returns whether no child is left.
  bool reap() {
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid == 0) return false;
      if (pid < 0) return true;
      if (pid != child_ || child_ended_) continue;
      child_ended_ = true;
      send_message(command_.control_fd, SupervisorMessage::exited, status);
    }
  }

  const SupervisedCommand& command_;
  const pid_t child_;
  const int child_events_;
  bool child_ended_ = false, stop_requested_ = false, parent_gone_ = false;
};

}  // namespace

void supervise_command(const SupervisedCommand& command) {
  // Leaves the terminal's foreground group. An ignored SIGCHLD would discard exit statuses.
  setpgid(0, 0);
  signal(SIGCHLD, SIG_DFL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "hocket-guard");
  close_others(command.control_fd, command.stdout_fd, command.stderr_fd);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) dup2(null, fd);
  if (null > 2) close(null);

  sigset_t child_signal;
  sigemptyset(&child_signal);
  sigaddset(&child_signal, SIGCHLD);
  const int child_events = signalfd(-1, &child_signal, SFD_CLOEXEC | SFD_NONBLOCK);

  const pid_t self = getpid();
  const pid_t child = child_events < 0 ? -1 : fork();
  if (child == 0) execute(command, self);
  if (child < 0) {
    send_message(command.control_fd, SupervisorMessage::start_failed, errno);
    _exit(1);
  }
  close(command.stdout_fd);
  close(command.stderr_fd);
  Supervisor(command, child, child_events).run();
  _exit(0);
}

}  // namespace hocket
