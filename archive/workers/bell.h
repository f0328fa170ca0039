#pragma once

// Ends the waits of a study's owner and its workers that are threads of one process, so that these
// need not wait for the next look at the store (archive/workers/waiting.h). Thread-safe.

#include "archive/workers/waiting.h"
#include "tuner/trial/cancel.h"

namespace hocket {

/// A bell for one waiting thread. It stays rung until that thread has waited, so that no ring
/// between a look and the wait is lost.
class Bell {
 public:
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  void ring() noexcept;

  /// Returns an InterruptibleWait that also ends when this bell, which must outlive it, is rung.
  InterruptibleWait wait_unless_cancelled(const CancelToken& cancel);

 private:
  const int fd_;  ///< negative if there are no descriptors left; then waits end by time
};

}  // namespace hocket
