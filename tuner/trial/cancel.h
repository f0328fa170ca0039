#pragma once

// A request to stop, made once by any thread and seen by every waiting thread. Thread-safe;
// cancel() may be called from a signal handler.

namespace hocket {

class CancelToken {
 public:
  CancelToken();
  ~CancelToken();
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  /// Requests the stop; repeated calls have no further effect. Async-signal-safe.
  void cancel() noexcept;

  bool cancelled() const noexcept;

  /// Returns a descriptor that is readable from cancel() on, for poll(), so that a wait needs no
  /// repeated check.
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace hocket
