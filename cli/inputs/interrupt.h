#pragma once

// Ctrl-C and its relatives as a CancelToken. At most one at a time.

#include <csignal>

#include "tuner/trial/cancel.h"

namespace hocket {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP cancels `token`, which must outlive this; a
/// second one has its usual effect. Signals that were ignored stay so, as shells expect of what
/// they run in the background.
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

/// Returns when one of the two is cancelled.
void wait_for_either(const CancelToken& a, const CancelToken& b);

}  // namespace hocket
