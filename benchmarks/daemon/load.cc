#include "benchmarks/daemon/load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/check.h"

namespace hocket {

Connections::Connections(std::vector<std::uint16_t> ports, std::size_t count)
    : ports_(std::move(ports)), epoll_(epoll_create1(0)), buffer_(1 << 16, '\0') {
  for (std::size_t number = 0; number < count * ports_.size(); ++number)
    sockets_.push_back(connect_to_port(number));
}

int Connections::connect_to_port(std::size_t number) const {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(ports_[number % ports_.size()]);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  HOCKET_CHECK(socket >= 0, "there are descriptors");
  HOCKET_CHECK(connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
               "the server listens");
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = number;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  return socket;
}

Connections::~Connections() {
  for (const int socket : sockets_) close(socket);
  close(epoll_);
}

void Connections::send(std::size_t number, std::string_view text) {
  const auto sent = ::send(sockets_[number], text.data(), text.size(), MSG_NOSIGNAL);
  HOCKET_CHECK(sent == static_cast<ssize_t>(text.size()), "a request fits into the socket");
}

std::string_view Connections::receive(std::size_t number) {
  const auto bytes = recv(sockets_[number], buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  HOCKET_CHECK(bytes != 0, "the server keeps the connection");
  return {buffer_.data(), static_cast<std::size_t>(std::max<ssize_t>(0, bytes))};
}

void Connections::reopen(std::size_t number) {
  close(sockets_[number]);
  sockets_[number] = connect_to_port(number);
}

const std::vector<std::size_t>& Connections::wait(int timeout_ms) {
  std::array<epoll_event, 512> events;
  const int count = epoll_wait(epoll_, events.data(), events.size(), timeout_ms);
  ready_.clear();
  for (int i = 0; i < count; ++i) ready_.push_back(events[i].data.u64);
  return ready_;
}

std::optional<std::size_t> response_bytes(std::string_view text) {
  constexpr std::string_view kEnd = "\r\n\r\n", kLength = "Content-Length: ";
  const std::size_t end = text.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t body = 0;
  if (const std::size_t length = text.find(kLength); length < end) {
    std::from_chars(text.data() + length + kLength.size(), text.data() + end, body);
  }
  const std::size_t whole = end + kEnd.size() + body;
  return text.size() < whole ? std::nullopt : std::optional(whole);
}

std::string spread_text(const std::vector<double>& values, int digits) {
  const auto [least, most] = std::ranges::minmax(values);
  char text[100];
  std::snprintf(text, sizeof text, "%.*f (%.*f to %.*f)", digits, median(values), digits, least,
                digits, most);
  return text;
}

MeasuredPeer over_bare() {
  return {.label = to_string(ServerKind::bare), .column = "measured", .title = "over `bare`"};
}

void add_servers(MeasuredTable& table, const std::string& name,
                 const std::map<ServerKind, std::vector<double>>& values) {
  for (const auto& [kind, of_server] : values)
    table.add({name, to_string(kind)}, "measured", of_server);
}

}  // namespace hocket
