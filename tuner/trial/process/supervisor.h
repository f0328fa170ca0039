#pragma once

// The process between the tuner and a command: it starts the command, reports its end, and ends
// every process that descends from it. It runs after fork() in a program that may have threads, so
// its code calls only async-signal-safe functions: no allocation, no locks, no exceptions.

namespace hocket {

/// Message that the supervisor, or the command's process before exec, writes to its socket; kinds
/// arrive in this order.
struct SupervisorMessage {
  enum Kind : int {
    chdir_failed,  ///< value: errno
    start_failed,  ///< value: errno of fork or exec
    exited,        ///< value: status as of waitpid()
    ended,         ///< value: 0, or 1 when a process of the tree could not be ended
  };
  Kind kind;
  int value;
  /// With `ended`: the peak resident memory of the largest process that was waited for, within the
  /// tree or by the supervisor. The kernel counts memory held before exec, so it is never less than
  /// the size of this process when it forked.
  long peak_kib = 0;
  /// With `ended`: the command ended by itself, and processes that it had started still ran.
  bool had_left = false;
};

struct SupervisedCommand {
  char* const* argv;
  char* const* environment;
  const char* working_directory;  ///< null: unchanged
  int stdout_fd, stderr_fd;
  /// SOCK_SEQPACKET socket. A byte from the peer, or its end of file, requests the end of the tree;
  /// after an end of file there is no grace period.
  int control_fd;
  int grace_ms;
};

/// Starts and supervises the command. Requires that every signal is blocked. Never returns.
[[noreturn]] void supervise_command(const SupervisedCommand& command);

}  // namespace hocket
