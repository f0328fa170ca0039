#include "tuner/trial/process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/base/check.h"
#include "core/files/descriptor.h"
#include "tuner/trial/process/capture.h"
#include "tuner/trial/process/supervisor.h"
#include "tuner/trial/process/tree_memory.h"

namespace hocket {
namespace {

constexpr std::int64_t kFirstSampleNs = 10'000'000, kSampleIntervalNs = 200'000'000;
/// Pauses between samples are at least this many times the processor time of a sample.
constexpr std::int64_t kSampleCostFactor = 20;

std::int64_t thread_cpu_ns() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Error system_error(const std::string& what) {
  return {ErrorCode::unavailable, what + ": " + std::strerror(errno)};
}

/// Returns the environment of this process with `additions` and without `absent`, as "NAME=VALUE".
std::vector<std::string> merged_environment(const std::map<std::string, std::string>& additions,
                                            const std::vector<std::string>& absent) {
  const auto is_absent = [&](const std::string& name) {
    return std::ranges::count(absent, name) > 0;
  };
  std::vector<std::string> merged;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (!additions.contains(name) && !is_absent(name)) merged.push_back(text);
  }
  for (const auto& [name, value] : additions) {
    if (!is_absent(name)) merged.emplace_back(name).append("=").append(value);
  }
  return merged;
}

/// Returns pointers in the form that exec expects, valid as long as `texts`.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// The two ends of a pipe or a socket pair.
using Ends = std::array<FileDescriptor, 2>;

Result<Ends> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return failure(system_error("cannot make a pipe"));
  Ends ends{FileDescriptor(fds[0]), FileDescriptor(fds[1])};
  if (!ends[0] || !ends[1]) return failure(system_error("cannot make a pipe"));
  // Only the reading end is non-blocking: the command must see a plain blocking pipe.
  fcntl(ends[0].get(), F_SETFL, O_NONBLOCK);
  return ends;
}

Result<Ends> make_control() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return failure(system_error("cannot make a socket pair"));
  }
  Ends ends{FileDescriptor(fds[0]), FileDescriptor(fds[1])};
  if (!ends[0] || !ends[1]) return failure(system_error("cannot make a socket pair"));
  return ends;
}

/// The tuner's side of a running command: reads its output and its supervisor's messages.
class Run {
 public:
  Run(const ProcessOptions& options, const Clock& clock, const CancelToken& cancel)
      : options_(options),
        clock_(clock),
        cancel_(cancel),
        stdout_(options.output_limit_bytes),
        stderr_(options.output_limit_bytes) {}

  ~Run() {
    control_.reset();
    while (supervisor_ > 0 && waitpid(supervisor_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  Result<void> start();
  Result<ProcessResult> finish();

 private:
  struct Stream {
    explicit Stream(std::size_t limit_bytes) : capture(limit_bytes) {}
    FileDescriptor pipe;
    OutputCapture capture;
  };

  void fork_supervisor(Ends& out, Ends& err, Ends& control);
  /// Returns the milliseconds until the time limit, the next sample of the memory or the next call
  /// of the watch, −1 if none is to come.
  int remaining_ms() const;
  void request_stop(bool& reason);
  void handle_limits(bool cancel_is_set);
  void look();
  void sample_memory();
  Result<void> read_control();
  Result<void> handle(const SupervisorMessage& message);
  static void read_stream(Stream& stream);

  const ProcessOptions& options_;
  const Clock& clock_;
  const CancelToken& cancel_;
  ProcessResult result_;
  Stream stdout_, stderr_;
  FileDescriptor control_;
  pid_t supervisor_ = -1;
  std::optional<TreeMemory> memory_;
  std::int64_t start_ns_ = 0, next_look_ns_ = 0, next_sample_ns_ = 0;
  bool stopping_ = false;  ///< the command has ended or was asked to end
  bool ended_ = false;     ///< no process of the tree is left
};

Result<void> Run::start() {
  auto out = make_pipe();
  HOCKET_TRY(out);
  auto err = make_pipe();
  HOCKET_TRY(err);
  auto control = make_control();
  HOCKET_TRY(control);
  fork_supervisor(*out, *err, *control);
  if (supervisor_ < 0) return failure(system_error("cannot start a process"));
  // All processes of the tree descend from the supervisor, which adopts orphans.
  memory_.emplace(options_.processes ? *options_.processes : host_processes(), supervisor_,
                  options_.memory_limit_bytes);
  stdout_.pipe = std::move((*out)[0]);
  stderr_.pipe = std::move((*err)[0]);
  control_ = std::move((*control)[0]);
  return {};
}

void Run::fork_supervisor(Ends& out, Ends& err, Ends& control) {
  auto arguments = options_.argv;
  auto environment = merged_environment(options_.environment, options_.absent);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  const SupervisedCommand command{
      argv.data(),
      envp.data(),
      options_.working_directory.empty() ? nullptr : options_.working_directory.c_str(),
      out[1].get(),
      err[1].get(),
      control[1].get(),
      static_cast<int>(
          std::clamp<std::int64_t>(options_.grace_ns / 1'000'000, 0, std::int64_t{INT_MAX} / 2))};
  // No signal handler of this process may run in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  start_ns_ = clock_.now_ns();
  next_look_ns_ = start_ns_ + options_.watch_interval_ns;
  next_sample_ns_ = start_ns_ + kFirstSampleNs;
  supervisor_ = fork();
  if (supervisor_ == 0) supervise_command(command);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
}

int Run::remaining_ms() const {
  if (stopping_) return -1;
  const std::int64_t now_ns = clock_.now_ns();
  std::int64_t remaining = next_sample_ns_ - now_ns;
  if (options_.time_limit_ns)
    remaining = std::min(remaining, *options_.time_limit_ns - (now_ns - start_ns_));
  if (options_.watch) remaining = std::min(remaining, next_look_ns_ - now_ns);
  return static_cast<int>(
      std::clamp<std::int64_t>(remaining / 1'000'000 + 1, 0, std::int64_t{INT_MAX}));
}

void Run::request_stop(bool& reason) {
  reason = true;
  stopping_ = true;
  // Fails only if the supervisor is gone, which read_control() detects.
  [[maybe_unused]] const auto sent = send(control_.get(), "", 1, MSG_NOSIGNAL);
}

void Run::handle_limits(bool cancel_is_set) {
  if (stopping_) return;
  const bool late =
      options_.time_limit_ns && clock_.now_ns() - start_ns_ >= *options_.time_limit_ns;
  if (cancel_is_set) {
    request_stop(result_.cancelled);
  } else if (late) {
    request_stop(result_.timed_out);
  } else if (clock_.now_ns() >= next_sample_ns_) {
    sample_memory();
  } else if (options_.watch && clock_.now_ns() >= next_look_ns_) {
    look();
  }
}

void Run::sample_memory() {
  const std::int64_t begin_cpu_ns = thread_cpu_ns();
  memory_->sample(clock_.now_ns());
  if (memory_->is_over_limit()) request_stop(result_.over_memory);
  const std::int64_t now_ns = clock_.now_ns();
  // Waiting for a processor costs the job nothing, so it must not delay the next sample.
  const std::int64_t cost_ns = thread_cpu_ns() - begin_cpu_ns;
  // A short command is sampled more often, so that it is sampled at all.
  const std::int64_t interval_ns =
      std::clamp((now_ns - start_ns_) / 4, kFirstSampleNs, kSampleIntervalNs);
  next_sample_ns_ = now_ns + std::max(interval_ns, kSampleCostFactor * cost_ns);
}

void Run::look() {
  if (options_.watch({stdout_.capture.head(), stderr_.capture.head()})) {
    request_stop(result_.ended_early);
  }
  // Scheduled from now: even if a call of the watch takes long, the calls do not follow without
  // pause.
  next_look_ns_ = clock_.now_ns() + options_.watch_interval_ns;
}

Result<void> Run::handle(const SupervisorMessage& message) {
  const auto cannot_start = [&](const std::string& what) -> Result<void> {
    const bool system = message.value == EAGAIN || message.value == ENOMEM ||
                        message.value == EMFILE || message.value == ENFILE;
    return failure(system ? ErrorCode::unavailable : ErrorCode::invalid_argument,
                   "cannot start " + options_.argv[0] + ": " + what + std::strerror(message.value));
  };
  switch (message.kind) {
    case SupervisorMessage::chdir_failed:
      return cannot_start("working directory " + options_.working_directory + ": ");
    case SupervisorMessage::start_failed:
      return cannot_start("");
    case SupervisorMessage::exited:
      result_.wall_ns = clock_.now_ns() - start_ns_;
      if (WIFEXITED(message.value)) result_.exit_status = WEXITSTATUS(message.value);
      if (WIFSIGNALED(message.value)) result_.signal = WTERMSIG(message.value);
      stopping_ = true;
      return {};
    case SupervisorMessage::ended:
      ended_ = true;
      result_.had_left = message.had_left;
      result_.peak_memory_bytes =
          std::max(std::int64_t{message.peak_kib} * 1024, memory_->peak_bytes());
      if (message.value == 0) return {};
      return failure(ErrorCode::unavailable, "a process of " + options_.argv[0] +
                                                 " cannot be ended, not even by SIGKILL; end it by "
                                                 "hand and run the command again");
  }
  return {};
}

Result<void> Run::read_control() {
  SupervisorMessage message{};
  const ssize_t length = recv(control_.get(), &message, sizeof message, 0);
  if (length < 0 && errno == EINTR) return {};
  if (length != sizeof message) {
    return failure(ErrorCode::unavailable,
                   "the supervisor of " + options_.argv[0] + " was killed; run the command again");
  }
  return handle(message);
}

void Run::read_stream(Stream& stream) {
  char block[1 << 16];
  const ssize_t length = ::read(stream.pipe.get(), block, sizeof block);
  if (length > 0) {
    stream.capture.append({block, static_cast<std::size_t>(length)});
  } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
    stream.pipe.reset();
  }
}

Result<ProcessResult> Run::finish() {
  while (!ended_) {
    // poll() ignores descriptors below 0: streams at their end, and the token once stopping.
    pollfd events[] = {{control_.get(), POLLIN, 0},
                       {stdout_.pipe.get(), POLLIN, 0},
                       {stderr_.pipe.get(), POLLIN, 0},
                       {stopping_ ? -1 : cancel_.fd(), POLLIN, 0}};
    if (poll(events, 4, remaining_ms()) < 0 && errno != EINTR) {
      return failure(system_error("cannot wait for " + options_.argv[0]));
    }
    if (events[1].revents) read_stream(stdout_);
    if (events[2].revents) read_stream(stderr_);
    if (events[0].revents) {
      HOCKET_TRY(read_control());
    }
    handle_limits(events[3].revents != 0);
  }
  // No process of the tree writes any more, but the pipes may hold remaining output. The loop is
  // bounded in case a process outside the tree holds the other end.
  for (Stream* stream : {&stdout_, &stderr_}) {
    for (int block = 0; stream->pipe && block < 64; ++block) read_stream(*stream);
  }
  result_.stdout_text = stdout_.capture.text();
  result_.stderr_text = stderr_.capture.text();
  const std::size_t kept = std::min(kTrialOutputLimitBytes, options_.output_limit_bytes);
  result_.output = {stdout_.capture.excerpt(kept), stderr_.capture.excerpt(kept)};
  return std::move(result_);
}

}  // namespace

Result<ProcessResult> run_process(const ProcessOptions& options, const Clock& clock,
                                  const CancelToken& cancel) {
  if (options.argv.empty() || options.argv[0].empty()) {
    return failure(ErrorCode::invalid_argument, "cannot start a command without a name");
  }
  Run run(options, clock, cancel);
  HOCKET_TRY(run.start());
  return run.finish();
}

std::string describe_end(const ProcessResult& result) {
  if (result.signal == 0) return "exit status " + std::to_string(result.exit_status);
  const char* name = sigabbrev_np(result.signal);
  return "signal " + std::to_string(result.signal) +
         (name ? std::string(" (SIG") + name + ")" : "");
}

}  // namespace hocket
