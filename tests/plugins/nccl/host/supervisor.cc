#include "tests/plugins/nccl/host/supervisor.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace hocket::nccl_host {
namespace {

struct Child {
  pid_t pid = -1;
  bool is_running = true;
  std::int64_t continue_at_ns = 0;  ///< 0: it is not stopped
};

class Supervisor {
 public:
  Supervisor(const Options& options, SharedRun& shared) : options_(options), shared_(shared) {}

  RunEnd run() {
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_signal, nullptr);
    const std::int64_t begin_ns = now_ns();
    start();
    const std::int64_t limit_ns = begin_ns + static_cast<std::int64_t>(options_.limit_s * 1e9);
    while (is_any_running()) {
      // The pause is short enough for stops and the abort to end in time.
      const timespec pause{0, 2'000'000};
      sigtimedwait(&child_signal, nullptr, &pause);
      for (int rank = 0; rank < options_.ranks; ++rank) look_at(rank);
      if (abort_at_ns_ > 0 && now_ns() >= abort_at_ns_) shared_.state->aborted = 1;
      if (!end_.exceeded_limit && now_ns() >= limit_ns) kill_all();
    }
    end_.wall_s = static_cast<double>(now_ns() - begin_ns) / 1e9;
    return end_;
  }

 private:
  void start() {
    std::fflush(nullptr);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) run_child(rank);
      if (pid < 0) {
        end_.exceeded_limit = true;
        kill_all();
        throw std::runtime_error("fork failed");
      }
      children_.push_back({.pid = pid});
    }
  }

  [[noreturn]] void run_child(int rank) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    int status = 1;
    try {
      status = run_rank(options_, shared_, rank);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "nccl_host: rank %d: %s\n", rank, error.what());
    }
    std::fflush(nullptr);
    // Destructors of the parent's objects are the parent's.
    _exit(status);
  }

  bool is_any_running() const {
    return std::any_of(children_.begin(), children_.end(),
                       [](const Child& child) { return child.is_running; });
  }

  void look_at(int rank) {
    Child& child = children_[rank];
    if (!child.is_running) return;
    if (child.continue_at_ns > 0 && now_ns() >= child.continue_at_ns) {
      child.continue_at_ns = 0;
      kill(child.pid, SIGCONT);
    }
    int status = 0;
    if (waitpid(child.pid, &status, WNOHANG | WUNTRACED) != child.pid) return;
    if (WIFSTOPPED(status)) {
      child.continue_at_ns = now_ns() + shared_.records[rank].stop_ms * 1'000'000LL;
      return;
    }
    child.is_running = false;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const bool is_expected = code == 0 || code == 4;
    if (is_expected || end_.exceeded_limit) return;
    end_.dead.push_back(rank);
    if (abort_at_ns_ == 0) abort_at_ns_ = now_ns() + options_.abort_ms * 1'000'000LL;
  }

  void kill_all() {
    end_.exceeded_limit = true;
    for (const Child& child : children_) {
      if (child.is_running) kill(child.pid, SIGKILL);
    }
  }

  const Options& options_;
  SharedRun& shared_;
  std::vector<Child> children_;
  RunEnd end_;
  std::int64_t abort_at_ns_ = 0;
};

}  // namespace

RunEnd supervise(const Options& options, SharedRun& shared) {
  return Supervisor(options, shared).run();
}

}  // namespace hocket::nccl_host
