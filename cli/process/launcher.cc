#include "cli/process/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/base/clock.h"
#include "core/files/scratch_folder.h"
#include "core/greeting/rendezvous_secret.h"
#include "core/host/rank_environment.h"

namespace hocket {
namespace {

constexpr std::int64_t kGraceNs = 2'000'000'000;
/// Time for a parameter server to listen.
constexpr std::int64_t kServerStartNs = 30'000'000'000;
constexpr std::size_t kMaxAddressBytes = 4096;
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP};

Error system_error(const std::string& what) {
  return {ErrorCode::unavailable, what + ": " + std::strerror(errno)};
}

/// Redirects the signals of a launch to a descriptor while it lives.
class SignalInbox {
 public:
  SignalInbox() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (const int number : kForwarded) sigaddset(&signals, number);
    // If SIGCHLD were ignored, it would not be sent and exit statuses would be lost.
    child_action_before_ = std::signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_BLOCK, &signals, &mask_before_);
    fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~SignalInbox() {
    if (fd_ >= 0) close(fd_);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    std::signal(SIGCHLD, child_action_before_);
  }
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  bool is_open() const { return fd_ >= 0; }
  const sigset_t& mask_before() const { return mask_before_; }

  /// Returns the signals that have arrived, waiting at most `timeout_ms` (−1: no limit).
  std::vector<int> wait(int timeout_ms) const {
    pollfd event{fd_, POLLIN, 0};
    poll(&event, 1, timeout_ms);
    std::vector<int> numbers;
    signalfd_siginfo info{};
    while (read(fd_, &info, sizeof info) == sizeof info) {
      numbers.push_back(static_cast<int>(info.ssi_signo));
    }
    return numbers;
  }

 private:
  int fd_ = -1;
  sigset_t mask_before_{};
  void (*child_action_before_)(int) = SIG_DFL;
};

/// Rendezvous of a launch: its folder and its secret, the same for all ranks.
struct Meeting {
  const std::string& folder;
  std::string secret;
};

/// Returns this process's environment with the variables `own` in place of those of their names.
std::vector<std::string> environment_with(std::vector<std::string> own) {
  std::vector<std::string> environment = own;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const auto is_own = [&](const std::string& mine) {
      return text.starts_with(std::string_view(mine).substr(0, mine.find('=') + 1));
    };
    if (std::ranges::none_of(own, is_own)) environment.emplace_back(text);
  }
  return environment;
}

std::string secret_variable(const Meeting& meeting) {
  return std::string(kRendezvousSecretVariable) + "=" + meeting.secret;
}

std::vector<std::string> rank_environment(int rank, int ranks, const Meeting& meeting,
                                          const std::string& servers) {
  std::vector<std::string> own{"RANK=" + std::to_string(rank),
                               "LOCAL_RANK=" + std::to_string(rank),
                               "WORLD_SIZE=" + std::to_string(ranks),
                               "LOCAL_WORLD_SIZE=" + std::to_string(ranks),
                               "HOCKET_RENDEZVOUS=file:" + meeting.folder,
                               secret_variable(meeting)};
  if (!servers.empty()) own.push_back(std::string(kServersVariable) + "=" + servers);
  return environment_with(std::move(own));
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

class Launch {
 public:
  Launch(const LaunchOptions& options, Meeting meeting, const SignalInbox& inbox)
      : options_(options), meeting_(std::move(meeting)), inbox_(inbox) {}

  /// Starts the servers, then all ranks; if one cannot be started, ends the others.
  Result<void> start();
  /// Blocks until all ranks have ended.
  LaunchResult finish();

 private:
  /// A process to start; its output goes to `output_fd`, if that is one.
  struct Process {
    std::vector<std::string> command, environment;
    int output_fd = -1;
  };
  Result<pid_t> start_process(Process process) const;
  [[noreturn]] void become(char* const* argv, char* const* environment, const Process& process,
                           pid_t launcher, int error_fd) const;
  /// Starts a server and returns where it listens.
  Result<std::string> start_server(std::size_t server);
  Result<void> start_all();
  std::size_t servers() const { return options_.servers.size(); }
  /// Returns whether a process of those from `first` on is running.
  bool any_runs_from(std::size_t first) const {
    return std::any_of(pids_.begin() + static_cast<std::ptrdiff_t>(first), pids_.end(),
                       [](pid_t pid) { return pid > 0; });
  }
  void signal_all(int number) const;
  void begin_end(int number);
  void reap();
  void ended(pid_t pid, int status);
  int remaining_ms() const;

  const LaunchOptions& options_;
  const Meeting meeting_;
  const SignalInbox& inbox_;
  SteadyClock clock_;
  std::vector<pid_t> pids_;  ///< servers first, then ranks; 0 once a process has ended
  LaunchResult result_;
  std::optional<std::int64_t> kill_at_ns_;  ///< set once the job is being ended
  bool killed_ = false;
};

void Launch::become(char* const* argv, char* const* environment, const Process& process,
                    pid_t launcher, int error_fd) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(127);
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (null > STDERR_FILENO) close(null);
  if (process.output_fd >= 0) dup2(process.output_fd, STDOUT_FILENO);
  sigprocmask(SIG_SETMASK, &inbox_.mask_before(), nullptr);
  execvpe(argv[0], argv, environment);
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(error_fd, &error, sizeof error);
  _exit(127);
}

Result<pid_t> Launch::start_process(Process process) const {
  const auto argv = pointers(process.command), environment = pointers(process.environment);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure(system_error("cannot make a pipe"));
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(argv.data(), environment.data(), process, launcher, ends[1]);
  const Error fork_error = system_error("cannot start a process");
  close(ends[1]);
  int error = 0;
  ssize_t length = 0;
  if (pid > 0) {
    // Done in the parent as well, so that the group exists whichever process runs first.
    setpgid(pid, pid);
    while ((length = ::read(ends[0], &error, sizeof error)) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  if (pid < 0) return failure(fork_error);
  if (length != sizeof error) return pid;
  waitpid(pid, nullptr, 0);
  return failure(ErrorCode::invalid_argument,
                 "cannot start " + process.command[0] + ": " + std::strerror(error));
}

Result<std::string> Launch::start_server(std::size_t server) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failure(system_error("cannot make a pipe"));
  const auto pid = start_process({.command = options_.servers[server],
                                  .environment = environment_with({secret_variable(meeting_)}),
                                  .output_fd = ends[1]});
  close(ends[1]);
  if (pid) pids_.push_back(*pid);
  std::string line;
  const std::int64_t end_ns = clock_.now_ns() + kServerStartNs;
  while (pid && line.find('\n') == std::string::npos && line.size() < kMaxAddressBytes) {
    pollfd event{ends[0], POLLIN, 0};
    const std::int64_t left_ms = (end_ns - clock_.now_ns()) / 1'000'000;
    if (left_ms <= 0 || poll(&event, 1, static_cast<int>(left_ms)) == 0) break;
    char bytes[256];
    const ssize_t length = ::read(ends[0], bytes, sizeof bytes);
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    line.append(bytes, static_cast<std::size_t>(length));
  }
  close(ends[0]);
  HOCKET_TRY(pid);
  const auto end = line.find('\n');
  if (end != std::string::npos) return line.substr(0, end);
  return failure(ErrorCode::unavailable, "parameter server " + std::to_string(server) + " (" +
                                             options_.servers[server][0] +
                                             ") has not said where it listens");
}

Result<void> Launch::start_all() {
  std::string addresses;
  for (std::size_t server = 0; server < servers(); ++server) {
    const auto address = start_server(server);
    HOCKET_TRY(address);
    addresses += (server == 0 ? "" : ",") + *address;
  }
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const auto pid =
        start_process({.command = options_.command,
                       .environment = rank_environment(rank, options_.ranks, meeting_, addresses)});
    HOCKET_TRY(pid);
    pids_.push_back(*pid);
  }
  return {};
}

Result<void> Launch::start() {
  auto started = start_all();
  if (started) return {};
  signal_all(SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  return started;
}

void Launch::signal_all(int number) const {
  for (const pid_t pid : pids_) {
    if (pid > 0) kill(-pid, number);
  }
}

void Launch::begin_end(int number) {
  signal_all(number);
  if (!kill_at_ns_) kill_at_ns_ = clock_.now_ns() + kGraceNs;
}

void Launch::ended(pid_t pid, int status) {
  const auto place = std::find(pids_.begin(), pids_.end(), pid);
  if (place == pids_.end()) return;
  *place = 0;
  const int exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (exit_status == 0 || kill_at_ns_) return;
  result_.exit_status = exit_status;
  const auto number = static_cast<std::size_t>(place - pids_.begin());
  if (number < servers()) {
    result_.failed_server = static_cast<int>(number);
  } else {
    result_.failed_rank = static_cast<int>(number - servers());
  }
  begin_end(SIGTERM);
}

void Launch::reap() {
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    const pid_t pid = info.si_pid;
    const bool failed = info.si_code != CLD_EXITED || info.si_status != 0;
    // Done before waitpid(), after which the id, also that of the group, may be reused.
    if (failed || kill_at_ns_) kill(-pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    ended(pid, status);
  }
}

int Launch::remaining_ms() const {
  if (!kill_at_ns_ || killed_) return -1;
  return static_cast<int>(
      std::max<std::int64_t>((*kill_at_ns_ - clock_.now_ns()) / 1'000'000 + 1, 0));
}

LaunchResult Launch::finish() {
  while (any_runs_from(0)) {
    // A server whose ranks never came does not end by itself.
    if (!kill_at_ns_ && !any_runs_from(servers())) begin_end(SIGTERM);
    for (const int number : inbox_.wait(remaining_ms())) {
      if (number == SIGCHLD) continue;
      result_.interrupted = true;
      begin_end(number);
    }
    reap();
    if (!killed_ && kill_at_ns_ && clock_.now_ns() >= *kill_at_ns_) {
      killed_ = true;
      signal_all(SIGKILL);
    }
  }
  return result_;
}

}  // namespace

Result<LaunchResult> launch_ranks(const LaunchOptions& options) {
  const auto folder = ScratchFolder::make();
  if (!folder) return failure(folder.error().in("the ranks have no folder to meet in"));
  const SignalInbox inbox;
  if (!inbox.is_open()) return failure(system_error("cannot wait for processes"));
  Launch launch(options, {folder->path(), random_rendezvous_secret()}, inbox);
  HOCKET_TRY(launch.start());
  return launch.finish();
}

}  // namespace hocket
