#pragma once

// A request to stop, made once by anybody and seen by whoever waits. Thread-safe; cancel() may be
// called from a signal handler.

namespace hocket {

class CancelToken {
 public:
  CancelToken();
  ~CancelToken();
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  /// Asks for an end; more than once does no more. Async-signal-safe.
  void cancel() noexcept;

  bool cancelled() const noexcept;

  /// A descriptor that is readable from cancel() on, for poll(), so that no wait has to look twice.
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace hocket
