#include "cli/process/interrupt.h"

#include <poll.h>

#include <atomic>
#include <cerrno>
#include <iterator>

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

void wait_for_either(const CancelToken& a, const CancelToken& b) {
  pollfd files[] = {{a.fd(), POLLIN, 0}, {b.fd(), POLLIN, 0}};
  while (poll(files, 2, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace hocket
