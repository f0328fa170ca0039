#include "core/host/messages/message_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace hocket {
namespace {

std::error_code system_error() {
  return {errno, std::system_category()};
}

timeval to_timeval(std::chrono::milliseconds time) {
  // Zero would be no limit.
  const auto us = std::max(std::chrono::microseconds(time), std::chrono::microseconds(1000));
  return {.tv_sec = us.count() / 1'000'000, .tv_usec = us.count() % 1'000'000};
}

/// Returns whether both ends of a connection are on this host: they have one address.
bool is_on_one_host(int socket) {
  sockaddr_in6 own{}, other{};
  socklen_t own_size = sizeof own, other_size = sizeof other;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &other_size) != 0)
    return false;
  if (own.sin6_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr;
  }
  return own.sin6_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&own.sin6_addr, &other.sin6_addr);
}

/// Within a host, messages beyond the processor's caches arrive sooner through a small buffer,
/// which the receiver empties while the sender fills it: 1 MiB takes two thirds of the time. A
/// network's delay wants a larger one, whose size the system finds.
constexpr int kBufferWithinHost = 128 << 10;

}  // namespace

OpenSockets::OpenSockets() : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

OpenSockets::~OpenSockets() = default;

void OpenSockets::add(int socket) {
  const std::lock_guard lock(mutex_);
  sockets_.insert(socket);
  if (is_shut_down_) ::shutdown(socket, SHUT_RDWR);
}

void OpenSockets::remove(int socket) {
  const std::lock_guard lock(mutex_);
  sockets_.erase(socket);
}

void OpenSockets::shut_down() {
  const std::lock_guard lock(mutex_);
  is_shut_down_ = true;
  for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  (void)::eventfd_write(stop_.get(), 1);
}

MessageSocket::MessageSocket(OpenSockets& sockets, FileDescriptor socket,
                             std::chrono::milliseconds timeout)
    : sockets_(&sockets), socket_(std::move(socket)) {
  const int fd = socket_.get(), on = 1;
  const timeval limit = to_timeval(timeout);
  if (is_on_one_host(fd))
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kBufferWithinHost, sizeof kBufferWithinHost);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  sockets.add(fd);
}

MessageSocket::MessageSocket(MessageSocket&& other) noexcept
    : sockets_(other.sockets_), socket_(std::move(other.socket_)) {}

MessageSocket& MessageSocket::operator=(MessageSocket&& other) noexcept {
  std::swap(sockets_, other.sockets_);
  std::swap(socket_, other.socket_);
  return *this;
}

MessageSocket::~MessageSocket() {
  if (socket_) sockets_->remove(socket_.get());
}

std::error_code MessageSocket::read(std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got == 0) return std::make_error_code(std::errc::broken_pipe);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return system_error();
    }
  }
  return {};
}

std::error_code MessageSocket::write(std::span<const std::byte> head,
                                     std::span<const std::byte> bytes) const {
  std::array<std::span<const std::byte>, 2> left = {head, bytes};
  while (!left[0].empty() || !left[1].empty()) {
    std::array<iovec, 2> parts;
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = {const_cast<std::byte*>(left[i].data()), left[i].size()};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return system_error();
    }
    auto moved = static_cast<std::size_t>(sent);
    for (auto& part : left) {
      const std::size_t of_this = std::min(moved, part.size());
      part = part.subspan(of_this);
      moved -= of_this;
    }
  }
  return {};
}

Error lost_peer(int rank, const std::error_code& why, std::chrono::milliseconds timeout) {
  const std::string name = "rank " + std::to_string(rank);
  if (why == std::errc::resource_unavailable_try_again || why == std::errc::timed_out) {
    return {ErrorCode::timed_out, name + " has been silent for " + std::to_string(timeout.count()) +
                                      " ms; see whether it is stuck and its host reachable"};
  }
  if (why == std::errc::too_many_files_open || why == std::errc::too_many_files_open_in_system) {
    return {ErrorCode::unavailable, "cannot open a connection to " + name + ": " + why.message() +
                                        "; allow more open files (ulimit -n)"};
  }
  const std::string how = why == std::errc::broken_pipe ? "it ended the connection" : why.message();
  return {ErrorCode::unavailable, name + " is gone: " + how + "; see its output"};
}

}  // namespace hocket
