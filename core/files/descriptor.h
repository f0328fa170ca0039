#pragma once

// Owning file descriptors. One thread at a time.

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace hocket {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  /// Takes ownership of `fd`, duplicated to a number above stdin, stdout and stderr, which a child
  /// replaces.
  explicit FileDescriptor(int fd) : fd_(fd) {
    if (fd < 0 || fd > 2) return;
    fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { reset(); }

  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  /// Returns the descriptor, which is the caller's from then on.
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace hocket
