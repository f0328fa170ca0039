#pragma once

// Owning file descriptors. One thread at a time.

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace hocket {

class Descriptor {
 public:
  Descriptor() = default;
  /// Takes ownership of `fd`, duplicated to a number above stdin, stdout and stderr, which a child
  /// replaces.
  explicit Descriptor(int fd) : fd_(fd) {
    if (fd < 0 || fd > 2) return;
    fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }

  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace hocket
