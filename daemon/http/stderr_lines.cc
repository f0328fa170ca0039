#include "daemon/http/stderr_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace hocket {
namespace {

/// Returns a descriptor of the pipe or terminal at standard error that does not wait. It is opened
/// anew, because O_NONBLOCK on the one that there is would also hold for the programs that share
/// it. Where that is not allowed, it is standard error itself.
int open_without_waiting(mode_t mode) {
  if (!S_ISFIFO(mode) && !S_ISCHR(mode)) return STDERR_FILENO;
  const int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  return fd < 0 ? STDERR_FILENO : fd;
}

}  // namespace

StderrLines::StderrLines() : fd_(STDERR_FILENO) {
  struct stat file {};
  if (fstat(STDERR_FILENO, &file) != 0) return;
  is_socket_ = S_ISSOCK(file.st_mode);
  fd_ = open_without_waiting(file.st_mode);
}

StderrLines::~StderrLines() {
  if (fd_ != STDERR_FILENO) close(fd_);
}

std::size_t StderrLines::write_some(std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    // A pipe with room takes this much at once, also where the descriptor could wait.
    const std::size_t part = std::min<std::size_t>(text.size() - done, PIPE_BUF);
    pollfd room{fd_, POLLOUT, 0};
    if (poll(&room, 1, 0) != 1) break;
    const ssize_t written = is_socket_
                                ? send(fd_, text.data() + done, part, MSG_DONTWAIT | MSG_NOSIGNAL)
                                : ::write(fd_, text.data() + done, part);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

bool StderrLines::write(std::string_view line) {
  rest_.erase(0, write_some(rest_));
  if (!rest_.empty()) return false;
  const std::size_t written = write_some(line);
  if (written > 0) rest_ = line.substr(written);
  return written > 0;
}

}  // namespace hocket
