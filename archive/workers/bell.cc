#include "archive/workers/bell.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace hocket {

Bell::Bell() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Bell::~Bell() {
  if (fd_ >= 0) ::close(fd_);
}

void Bell::ring() noexcept {
  (void)::eventfd_write(fd_, 1);
}

InterruptibleWait Bell::wait_unless_cancelled(const CancelToken& cancel) {
  return [this, &cancel](std::int64_t ns) {
    std::array<pollfd, 2> files = {{{cancel.fd(), POLLIN, 0}, {fd_, POLLIN, 0}}};
    poll(files.data(), files.size(), static_cast<int>(std::max<std::int64_t>(ns / 1'000'000, 1)));
    eventfd_t ignored = 0;
    (void)::eventfd_read(fd_, &ignored);
  };
}

}  // namespace hocket
