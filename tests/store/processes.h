#pragma once

// Processes of tests: forked ones, which say what fails on stderr and by their exit status. One
// thread.

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

/// A pipe whose ends are closed with it.
struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) abort();
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() { close_end(0); }
  void close_write() { close_end(1); }
  void close_end(int i) {
    if (ends[i] >= 0) close(ends[i]);
    ends[i] = -1;
  }
  int ends[2];
};

/// Runs `body` in a forked process, which exits with its return value. Failed expectations in it
/// print to stderr; `body` returns 0 only if all hold.
template <class Body>
pid_t start_process(Body&& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (...) {
    }
    _exit(status);
  }
  return child;
}

inline int exit_status(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Prints the reason and makes the child's check fail.
inline bool complain(const std::string& why) {
  std::fprintf(stderr, "in the child: %s\n", why.c_str());
  return false;
}

template <class T>
bool worked(const Result<T>& result) {
  return result ? true : complain(result.error().message);
}

template <class T>
bool is_told(const Result<T>& result, std::string_view part) {
  if (result) return complain("expected an error");
  return result.error().message.find(part) != std::string::npos || complain(result.error().message);
}

}  // namespace hocket
