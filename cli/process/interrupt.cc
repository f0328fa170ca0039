#include "cli/process/interrupt.h"

#include <poll.h>

#include <atomic>
#include <cerrno>
#include <iterator>
#include <utility>

namespace hocket {
namespace {

std::atomic<CancelToken*> interrupted_token = nullptr;

void on_signal(int) {
  if (auto* token = interrupted_token.load()) token->cancel();
}

}  // namespace

InterruptGuard::InterruptGuard(CancelToken& token) {
  interrupted_token = &token;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &before_[i], nullptr);
  }
  interrupted_token = nullptr;
}

InterruptThread::InterruptThread(std::function<void()> on_interrupt)
    : thread_([this, on_interrupt = std::move(on_interrupt)] {
        wait_for_either(interrupted_, ended_);
        if (interrupted_.cancelled()) on_interrupt();
      }) {}

InterruptThread::~InterruptThread() {
  ended_.cancel();
}

void wait_for_either(const CancelToken& a, const CancelToken& b) {
  pollfd files[] = {{a.fd(), POLLIN, 0}, {b.fd(), POLLIN, 0}};
  while (poll(files, 2, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace hocket
