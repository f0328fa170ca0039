#include "plugins/nccl/transport/socket_links.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "plugins/nccl/transport/steady_time.h"

namespace hocket::nccl {
namespace {

constexpr std::int64_t kPublishRetryNs = 2'000'000'000;
constexpr int kFlushMs = 200;
constexpr std::ptrdiff_t kMostStrangers = 256;

int open_socket(int family) {
  return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void set(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

/// A dead host is noticed also while nothing is sent.
void watch_other_host(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, SocketLinks::kUnacknowledgedMs);
}

std::uint16_t port_of(int fd) {
  SocketAddress address;
  address.bytes = sizeof address.storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.bytes) != 0)
    return 0;
  return address.family() == AF_INET
             ? ntohs(reinterpret_cast<const sockaddr_in*>(address.get())->sin_port)
             : ntohs(reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_port);
}

std::string name_of_meeting(std::uint64_t comm_id) {
  char text[40];
  std::snprintf(text, sizeof text, "nccl-%016llx", static_cast<unsigned long long>(comm_id));
  return text;
}

/// Compares in a time that says nothing of where they differ.
bool is_equal_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different = static_cast<unsigned char>(different | (a[i] ^ b[i]));
  return different == 0;
}

}  // namespace

SocketLinks::SocketLinks(SocketLinksOptions options) : options_(std::move(options)) {
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  listen_here();
  if (!is_root() || options_.rendezvous == nullptr) return;
  listen_at(AF_INET);
  listen_at(AF_INET6);
  meeting_.secret = random_bytes(Meeting::kSecretBytes);
}

SocketLinks::~SocketLinks() {
  for (const int fd : listeners_) ::close(fd);
  if (local_listener_ >= 0) ::close(local_listener_);
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

void SocketLinks::listen_here() {
  const int fd = open_socket(AF_UNIX);
  const SocketAddress address = unix_address(options_.comm_id, options_.rank);
  if (fd >= 0 && ::bind(fd, address.get(), address.bytes) == 0 && ::listen(fd, 128) == 0) {
    local_listener_ = fd;
  } else if (fd >= 0) {
    ::close(fd);
  }
}

void SocketLinks::listen_at(int family) {
  const int fd = open_socket(family);
  if (fd < 0) return;
  SocketAddress any;
  any.storage.ss_family = static_cast<sa_family_t>(family);
  any.bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(fd, any.get(), any.bytes) != 0 || ::listen(fd, 128) != 0) {
    ::close(fd);
    return;
  }
  listeners_.push_back(fd);
  const std::uint16_t port = port_of(fd);
  std::vector<SocketAddress> addresses;
  if (options_.own_hosts.empty()) {
    addresses = own_addresses(port);
  } else {
    std::string text = "1 " + std::string(2 * Meeting::kSecretBytes, '0');
    for (const std::string& host : options_.own_hosts)
      text += " " + host + " " + std::to_string(port);
    addresses = read_meeting(text).addresses;
  }
  for (const SocketAddress& address : addresses) {
    if (address.family() == family) meeting_.addresses.push_back(address);
  }
}

void SocketLinks::publish(std::int64_t now) {
  if (options_.rendezvous == nullptr || now < next_try_ns_ || has_all_links()) return;
  next_try_ns_ = now + kPublishRetryNs;
  if (meeting_.secret.size() != Meeting::kSecretBytes || meeting_.addresses.empty()) return;
  if (options_.rendezvous->publish(name_of_meeting(options_.comm_id), to_text(meeting_)))
    next_try_ns_ = now + options_.publish_again_ns;
}

bool SocketLinks::has_all_links() const {
  const auto links =
      std::count_if(ends_.begin(), ends_.end(), [](const auto& end) { return end->is_link; });
  return links + 1 >= std::ptrdiff_t{options_.ranks};
}

std::vector<LinkEvent> SocketLinks::wait(std::int64_t timeout_ns) {
  const std::int64_t now = steady_ns();
  if (is_root()) {
    publish(now);
  } else {
    connect_to_root(now);
  }
  std::vector<pollfd> polled{{wake_fd_, POLLIN, 0}, {local_listener_, POLLIN, 0}};
  for (const int fd : listeners_) polled.push_back({fd, POLLIN, 0});
  const std::size_t first_end = polled.size();
  for (const auto& end : ends_) {
    const bool writes = end->is_connecting || end->connection.has_output();
    polled.push_back(
        {end->connection.fd(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
  }
  const bool has_no_link = !is_root() && link_of(0) == nullptr;
  if (has_no_link) timeout_ns = std::clamp<std::int64_t>(next_try_ns_ - now, 0, timeout_ns);
  const timespec limit{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  std::vector<LinkEvent> events;
  if (::ppoll(polled.data(), polled.size(), &limit, nullptr) > 0) {
    std::uint64_t wakes = 0;
    if (polled[0].revents != 0 && ::read(wake_fd_, &wakes, sizeof wakes) < 0) wakes = 0;
    for (std::size_t i = first_end; i < polled.size(); ++i) {
      End& end = *ends_[i - first_end];
      if (polled[i].revents == 0) continue;
      if (end.is_connecting) finish_connecting(end, events);
      if (end.is_connecting) continue;
      end.connection.flush();
      end.connection.receive();
      take_messages(end, events);
    }
    if (polled[1].revents != 0) accept_from(local_listener_, true);
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
      if (polled[2 + i].revents != 0) accept_from(listeners_[i], false);
    }
  }
  drop_closed(events);
  return events;
}

void SocketLinks::wake() {
  const std::uint64_t one = 1;
  if (::write(wake_fd_, &one, sizeof one) < 0) return;  // full: it will wake
}

void SocketLinks::accept_from(int listener, bool is_local) {
  while (true) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    auto end = std::make_unique<End>(fd);
    if (is_local && !is_of_this_user(fd)) continue;
    if (!is_local) watch_other_host(fd);
    end->owes_secret = !is_local;
    drop_oldest_stranger();
    ends_.push_back(std::move(end));
  }
}

/// Whoever says nothing must not use up the descriptors of the job.
void SocketLinks::drop_oldest_stranger() {
  const auto is_stranger = [](const auto& end) { return end->rank == kStranger; };
  if (std::count_if(ends_.begin(), ends_.end(), is_stranger) < kMostStrangers) return;
  (*std::find_if(ends_.begin(), ends_.end(), is_stranger))->connection.give_up();
}

std::unique_ptr<SocketLinks::End> SocketLinks::connect_locally(std::uint32_t rank) {
  const int fd = open_socket(AF_UNIX);
  if (fd < 0) return nullptr;
  auto end = std::make_unique<End>(fd);
  const SocketAddress address = unix_address(options_.comm_id, rank);
  if (::connect(fd, address.get(), address.bytes) != 0 || !is_of_this_user(fd)) return nullptr;
  end->rank = rank;
  return end;
}

std::unique_ptr<SocketLinks::End> SocketLinks::connect_afar() {
  if (options_.rendezvous == nullptr) return nullptr;
  if (meeting_.addresses.empty()) {
    const auto text = options_.rendezvous->find(name_of_meeting(options_.comm_id));
    if (text) meeting_ = read_meeting(*text);
    if (meeting_.addresses.empty()) return nullptr;
  }
  const SocketAddress& address = meeting_.addresses[next_address_++ % meeting_.addresses.size()];
  const int fd = open_socket(address.family());
  if (fd < 0) return nullptr;
  auto end = std::make_unique<End>(fd);
  watch_other_host(fd);
  if (::connect(fd, address.get(), address.bytes) != 0 && errno != EINPROGRESS) return nullptr;
  end->rank = 0;
  return end;
}

void SocketLinks::connect_to_root(std::int64_t now) {
  if (now < next_try_ns_) return;
  next_try_ns_ = now + options_.retry_ns;
  const bool has_one = std::any_of(ends_.begin(), ends_.end(), [](const auto& end) {
    return end->is_link && !end->is_connecting;
  });
  if (has_one) return;
  // An address that does not answer is given up for the next one.
  std::erase_if(ends_, [](const auto& end) { return end->is_link; });
  auto end = options_.looks_on_this_host ? connect_locally(0) : nullptr;
  const bool is_local = end != nullptr;
  if (!is_local) end = connect_afar();
  if (!end) return;
  end->is_link = true;
  end->is_connecting = true;
  if (!is_local) {
    next_try_ns_ = now + 5 * options_.retry_ns;
    end->connection.send(meeting_.secret);
  }
  ends_.push_back(std::move(end));
}

void SocketLinks::finish_connecting(End& end, std::vector<LinkEvent>& events) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(end.connection.fd(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0) {
    // Not a loss: it never was a link.
    end.is_link = false;
    end.is_connecting = false;
    return end.connection.give_up();
  }
  end.is_connecting = false;
  end.connection.flush();
  events.push_back({.kind = LinkEvent::Kind::up, .rank = 0});
}

void SocketLinks::take_messages(End& end, std::vector<LinkEvent>& events) {
  if (end.owes_secret) {
    std::string secret;
    if (!end.connection.take(Meeting::kSecretBytes, secret)) return;
    end.owes_secret = false;
    if (!is_equal_secret(secret, meeting_.secret)) {
      return end.connection.give_up();
    }
  }
  Message message;
  while (end.connection.take(message)) {
    if (end.rank == kStranger && !admit(end, message)) {
      return end.connection.give_up();
    }
    events.push_back(
        {.kind = LinkEvent::Kind::message, .rank = end.rank, .message = std::move(message)});
  }
}

bool SocketLinks::admit(End& end, const Message& first) {
  if (is_root()) {
    const auto* hello = std::get_if<Hello>(&first);
    if (hello == nullptr || hello->rank == 0 || hello->rank >= options_.ranks) return false;
    // The arbiter takes a second Hello for the end of the first link.
    for (auto& other : ends_) {
      if (other->is_link && other->rank == hello->rank) other->is_link = false;
    }
    end.rank = hello->rank;
    end.is_link = true;
    return true;
  }
  const auto* question = std::get_if<Ask>(&first);
  if (question == nullptr || question->rank == 0 || question->rank >= options_.ranks) return false;
  end.rank = question->rank;
  return true;
}

void SocketLinks::drop_closed(std::vector<LinkEvent>& events) {
  std::erase_if(ends_, [&](const auto& end) {
    const bool is_replaced = is_root() && !end->is_link && end->rank != kStranger;
    if (end->connection.is_open() && !is_replaced) return false;
    if (end->is_link && !end->is_connecting)
      events.push_back({.kind = LinkEvent::Kind::lost, .rank = end->rank});
    return true;
  });
}

SocketLinks::End* SocketLinks::link_of(std::uint32_t rank) {
  const auto found = std::find_if(ends_.begin(), ends_.end(), [&](const auto& end) {
    return end->is_link && !end->is_connecting && end->rank == rank;
  });
  return found == ends_.end() ? nullptr : found->get();
}

SocketLinks::End* SocketLinks::asking_end_of(std::uint32_t rank) {
  const auto found = std::find_if(ends_.begin(), ends_.end(), [&](const auto& end) {
    return !end->is_link && end->rank == rank && end->connection.is_open();
  });
  return found == ends_.end() ? nullptr : found->get();
}

void SocketLinks::send(std::uint32_t to, const Message& message) {
  if (to == options_.rank || to >= options_.ranks) return;
  if (End* link = link_of(to)) return link->connection.send(message);
  if (is_root() || to == 0) return;
  if (End* end = asking_end_of(to)) return end->connection.send(message);
  if (std::holds_alternative<Ask>(message)) ask(to, message);
}

void SocketLinks::ask(std::uint32_t rank, const Message& message) {
  auto end = connect_locally(rank);
  if (!end) return;
  end->connection.send(message);
  ends_.push_back(std::move(end));
}

void SocketLinks::close() {
  const std::int64_t end_ns = steady_ns() + std::int64_t{kFlushMs} * 1'000'000;
  while (steady_ns() < end_ns) {
    std::vector<pollfd> polled;
    for (const auto& end : ends_) {
      end->connection.flush();
      if (end->connection.is_open() && end->connection.has_output())
        polled.push_back({end->connection.fd(), POLLOUT, 0});
    }
    if (polled.empty()) return;
    ::poll(polled.data(), polled.size(), 10);
  }
}

}  // namespace hocket::nccl
