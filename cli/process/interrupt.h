#pragma once

// Turns Ctrl-C and other termination signals into a CancelToken. At most one guard at a time.

#include <csignal>
#include <functional>
#include <thread>

#include "tuner/trial/cancel.h"

namespace hocket {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP cancels `token`, which must outlive this
/// object; a second one has its default effect. Signals that were ignored stay ignored, as shells
/// expect of background commands.
class InterruptGuard {
 public:
  explicit InterruptGuard(CancelToken& token);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[3] = {};
};

/// As an InterruptGuard, and calls `on_interrupt` once on a thread of its own, to end what the
/// caller's thread waits for.
class InterruptThread {
 public:
  explicit InterruptThread(std::function<void()> on_interrupt);
  ~InterruptThread();
  InterruptThread(const InterruptThread&) = delete;
  InterruptThread& operator=(const InterruptThread&) = delete;

  const CancelToken& interrupted() const { return interrupted_; }

 private:
  CancelToken interrupted_, ended_;
  const InterruptGuard guard_{interrupted_};
  std::jthread thread_;
};

/// Blocks until one of the two is cancelled.
void wait_for_either(const CancelToken& a, const CancelToken& b);

}  // namespace hocket
