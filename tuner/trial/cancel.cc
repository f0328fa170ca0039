#include "tuner/trial/cancel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "core/base/check.h"

namespace hocket {

CancelToken::CancelToken() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  HOCKET_CHECK(fd_ >= 0, "a program has a file descriptor left when it starts");
}

CancelToken::~CancelToken() {
  close(fd_);
}

void CancelToken::cancel() noexcept {
  const int saved = errno;
  const std::uint64_t one = 1;
  // Fails only when the counter is full, which is readable as well.
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
  errno = saved;
}

bool CancelToken::cancelled() const noexcept {
  pollfd event{fd_, POLLIN, 0};
  return poll(&event, 1, 0) > 0;
}

}  // namespace hocket
