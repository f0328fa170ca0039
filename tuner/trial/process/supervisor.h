#pragma once

// The process between a sweep and a command: it starts the command, reports its end, and ends every
// process that descends from it. It runs after fork() in a program that may have threads, so its
// code calls only async-signal-safe functions: no allocation, no locks, no exceptions.

namespace hocket {

/// What the supervisor, or the command before it is executed, writes to its socket, in this order.
struct SupervisorMessage {
  enum Kind : int {
    chdir_failed,  ///< value: errno
    start_failed,  ///< value: errno of fork or exec
    exited,        ///< value: status as of waitpid()
    ended,         ///< value: 0, or 1 when a process of the tree could not be ended
  };
  Kind kind;
  int value;
  /// Of `ended`: the peak resident memory of the largest process that was waited for, within the
  /// tree or here. The kernel counts what a process held before exec, so it is never less than what
  /// this process held when it forked.
  long peak_kib = 0;
};

struct SupervisedCommand {
  char* const* argv;
  char* const* environment;
  const char* working_directory;  ///< null: unchanged
  int stdout_fd, stderr_fd;
  /// SOCK_SEQPACKET. A byte from the other side, or its end, asks for the end of the tree; when the
  /// other side is gone there is no grace.
  int control_fd;
  int grace_ms;
};

/// Requires that every signal is blocked. Never returns.
[[noreturn]] void supervise(const SupervisedCommand& command);

}  // namespace hocket
