#pragma once

// Keeps a signal that a write raises, SIGPIPE or SIGXFSZ, from ending the process, without touching
// its handlers, which are the program's. A library that writes in somebody's job needs that; a
// program of hocket's own has cli/process/harmless_signal.h.

#include <csignal>
#include <ctime>

namespace hocket {

/// While it lives, the signal is blocked in this thread and in those that it starts. The write that
/// raised it fails (EPIPE, EFBIG), and the signal is taken back at the end. A thread that had it
/// blocked before keeps it so.
class BlockedSignal {
 public:
  explicit BlockedSignal(int number) : number_(number) {
    sigset_t set = only();
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~BlockedSignal() {
    if (sigismember(&before_, number_)) return;
    const sigset_t set = only();
    const timespec now{};
    sigtimedwait(&set, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedSignal(const BlockedSignal&) = delete;
  BlockedSignal& operator=(const BlockedSignal&) = delete;

 private:
  sigset_t only() const {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number_);
    return set;
  }

  const int number_;
  sigset_t before_;
};

}  // namespace hocket
