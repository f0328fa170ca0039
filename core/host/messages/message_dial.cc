#include "core/host/messages/message_dial.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <limits>
#include <system_error>

#include "core/greeting/client_side.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::error_code last_error() {
  return {errno, std::system_category()};
}

/// A socket that is being connected and introduced.
class Dialing {
 public:
  Dialing(steady_clock::time_point deadline, const OpenSockets& sockets)
      : deadline_(deadline), sockets_(sockets) {}

  std::error_code connect(const asio::ip::tcp::endpoint& endpoint) {
    socket_ = FileDescriptor(
        ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return last_error();
    if (::connect(socket_.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0)
      return {};
    if (errno != EINPROGRESS) return last_error();
    if (const auto error = wait_for(POLLOUT)) return error;
    int outcome = 0;
    socklen_t size = sizeof outcome;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &outcome, &size) != 0)
      return last_error();
    return {outcome, std::system_category()};
  }

  std::error_code read(void* into, std::size_t bytes) {
    return move(POLLIN, bytes, [&](std::size_t moved) {
      return ::recv(socket_.get(), static_cast<char*>(into) + moved, bytes - moved, 0);
    });
  }

  std::error_code write(const void* from, std::size_t bytes) {
    return move(POLLOUT, bytes, [&](std::size_t moved) {
      return ::send(socket_.get(), static_cast<const char*>(from) + moved, bytes - moved,
                    MSG_NOSIGNAL);
    });
  }

  FileDescriptor release() { return std::move(socket_); }

 private:
  /// Calls `move_some(bytes moved so far)` until all are.
  std::error_code move(short events, std::size_t bytes, const auto& move_some) {
    for (std::size_t moved = 0; moved < bytes;) {
      const ssize_t some = move_some(moved);
      if (some == 0) return std::make_error_code(std::errc::broken_pipe);
      if (some > 0) {
        moved += static_cast<std::size_t>(some);
      } else if (errno == EAGAIN) {
        if (const auto error = wait_for(events)) return error;
      } else if (errno != EINTR) {
        return last_error();
      }
    }
    return {};
  }

  std::error_code wait_for(short events) {
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(deadline_ - steady_clock::now()).count();
      pollfd polled[] = {
          {.fd = socket_.get(), .events = events, .revents = 0},
          {.fd = sockets_.stop_descriptor(), .events = POLLIN, .revents = 0},
      };
      const int ready =
          ::poll(polled, 2, static_cast<int>(std::clamp<decltype(left)>(left, 0, kLongestWaitMs)));
      if (sockets_.is_shut_down()) return std::make_error_code(std::errc::operation_canceled);
      if (ready > 0) return {};
      if (ready == 0) return std::make_error_code(std::errc::timed_out);
      if (errno != EINTR) return last_error();
    }
  }

  static constexpr std::int64_t kLongestWaitMs = std::numeric_limits<int>::max();

  const steady_clock::time_point deadline_;
  const OpenSockets& sockets_;
  FileDescriptor socket_;
};

}  // namespace

std::string message_secret(const std::string& job_secret, const MessageAddress& address) {
  return job_secret + ":" + address.token.data();
}

Result<FileDescriptor> dial(const DialedRank& peer, const message_wire::Caller& caller,
                            milliseconds timeout, const OpenSockets& sockets) {
  const auto outcome_of = [&](const std::error_code& error) -> Result<void> {
    if (error) return failure(lost_peer(peer.rank, error, timeout));
    return {};
  };
  boost::system::error_code malformed;
  const auto host = asio::ip::make_address(peer.address.host.data(), malformed);
  if (malformed) {
    return failure(ErrorCode::unavailable,
                   "rank " + std::to_string(peer.rank) + " has told an address that is none");
  }
  Dialing dialing(steady_clock::now() + timeout, sockets);
  HOCKET_TRY(outcome_of(dialing.connect({host, static_cast<std::uint16_t>(peer.address.port)})));
  const greeting::Channel channel = {
      .read = [&](void* into, std::size_t bytes) { return outcome_of(dialing.read(into, bytes)); },
      .write = [&](const void* from,
                   std::size_t bytes) { return outcome_of(dialing.write(from, bytes)); }};
  bool ignored = false;
  HOCKET_TRY(greeting::greet_server(
      channel, message_wire::kProtocol, message_secret(peer.secret, peer.address),
      "rank " + std::to_string(peer.rank), greeting::message_bytes(caller), ignored));
  return dialing.release();
}

}  // namespace hocket
