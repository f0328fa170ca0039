#pragma once

// Keeps the signals that a failed write raises from ending the process: SIGPIPE, where nobody
// reads a pipe any more, and SIGXFSZ, where a file may not grow further. The write fails instead,
// and its caller says so.

#include <csignal>

namespace hocket {

/// While it lives, the signal has no effect on this process. Commands that the process starts have
/// its default effect, because a signal with a handler, unlike an ignored one, gets that back when
/// a program is executed. A signal that was ignored already stays ignored, for these, too. At most
/// one for a signal at a time; made while the process has one thread.
class HarmlessSignal {
 public:
  explicit HarmlessSignal(int number);
  ~HarmlessSignal();
  HarmlessSignal(const HarmlessSignal&) = delete;
  HarmlessSignal& operator=(const HarmlessSignal&) = delete;

 private:
  int number_;
  struct sigaction before_ = {};
};

}  // namespace hocket
