#include "plugins/nccl/transport/connection.h"

#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <span>

namespace hocket::nccl {
namespace {

/// More than a rank can have to say. An end that does not read is as good as lost.
constexpr std::size_t kMostOutput = 4 << 20;
constexpr std::size_t kMostAtOnce = 64 * 1024;

}  // namespace

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

void Connection::send(std::string_view bytes) {
  if (has_failed_) return;
  if (out_.size() + bytes.size() > kMostOutput) {
    has_failed_ = true;
    return;
  }
  out_.append(bytes);
  flush();
}

void Connection::flush() {
  while (!out_.empty() && !has_failed_) {
    const ssize_t sent = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      out_.erase(0, static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN) {
      return;
    } else if (errno != EINTR) {
      has_failed_ = true;
    }
  }
}

void Connection::receive() {
  char bytes[kMostAtOnce];
  while (!has_failed_) {
    const ssize_t received = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (received > 0) {
      in_.append(bytes, static_cast<std::size_t>(received));
      if (static_cast<std::size_t>(received) < sizeof bytes) return;
    } else if (received == 0) {
      has_failed_ = true;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      has_failed_ = true;
    }
  }
}

bool Connection::take(std::size_t count, std::string& bytes) {
  if (in_.size() < count) return false;
  bytes = in_.substr(0, count);
  in_.erase(0, count);
  return true;
}

bool Connection::take(Message& message) {
  Decoded decoded = decode(std::as_bytes(std::span(in_)));
  if (!decoded.error.empty()) {
    has_failed_ = true;
    in_.clear();
  }
  if (!decoded.message) return false;
  message = std::move(*decoded.message);
  in_.erase(0, decoded.consumed);
  return true;
}

}  // namespace hocket::nccl
