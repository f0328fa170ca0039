#pragma once

// A TCP connection to a server on loopback that sends arbitrary bytes and reads the response. A
// read that receives nothing for a minute fails the test. One thread.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace hocket {

struct RawResponse {
  int status = 0;
  std::string head;
  std::string body;
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer_bytes = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer_bytes > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                   sizeof receive_buffer_bytes);
    }
    const timeval minute = {60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(); }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  /// Closes with a reset, so that the server notices at once, even behind bytes that it has not
  /// read.
  void reset() {
    const linger at_once = {1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }
  void end_sending() { ::shutdown(socket_, SHUT_WR); }

  /// Sends bytes. Returns false if the server no longer accepts them.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void get(const std::string& target, const std::string& fields = "") {
    send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
  }

  /// Reads up to and including the first `end`, or to the end of the stream.
  std::string read_until(std::string_view end) {
    for (;;) {
      const std::size_t at = received_.find(end);
      if (at != std::string::npos) return take(at + end.size());
      if (!receive()) return take(received_.size());
    }
  }

  RawResponse read_response(bool has_body = true) {
    RawResponse response;
    response.head = read_until("\r\n\r\n");
    if (response.head.size() > 12) response.status = std::atoi(response.head.c_str() + 9);
    const std::size_t field = response.head.find("Content-Length: ");
    if (!has_body || field == std::string::npos) return response;
    const auto bytes = std::strtoul(response.head.c_str() + field + 16, nullptr, 10);
    while (received_.size() < bytes && receive()) continue;
    response.body = take(std::min<std::size_t>(bytes, received_.size()));
    return response;
  }

  /// Returns true if nothing more arrives before the server closes.
  bool is_closed() {
    while (receive()) continue;
    return received_.empty();
  }

  int descriptor() const { return socket_; }

 private:
  bool receive() {
    char bytes[4096];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    EXPECT_FALSE(count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) << "nothing came";
    if (count <= 0) return false;
    received_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  std::string take(std::size_t bytes) {
    std::string taken = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return taken;
  }

  int socket_;
  std::string received_;
};

}  // namespace hocket
