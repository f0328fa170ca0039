#include "plugins/nccl/transport/socket_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hocket::nccl {
namespace {

constexpr std::size_t kMostAddresses = 16;

template <class Address>
SocketAddress made_of(const Address& address) {
  SocketAddress result;
  std::memcpy(&result.storage, &address, sizeof address);
  result.bytes = sizeof address;
  return result;
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family != AF_INET6) return false;
  const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
  return IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool read_hex(const std::string& text, std::string& bytes) {
  if (text.size() != 2 * Meeting::kSecretBytes) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    char* end = nullptr;
    const std::string digits = text.substr(i, 2);
    bytes.push_back(static_cast<char>(std::strtol(digits.c_str(), &end, 16)));
    if (*end != '\0') return false;
  }
  return true;
}

bool read_address(const std::string& text, const std::string& port, SocketAddress& address) {
  char* end = nullptr;
  const long number = std::strtol(port.c_str(), &end, 10);
  if (*end != '\0' || number <= 0 || number > 65535) return false;
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<std::uint16_t>(number));
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    address = made_of(four);
    return true;
  }
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = four.sin_port;
  if (inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) != 1) return false;
  address = made_of(six);
  return true;
}

}  // namespace

SocketAddress unix_address(std::uint64_t comm_id, std::uint32_t rank) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "hocket-nccl/%u/%016llx/%u",
                    static_cast<unsigned>(geteuid()), static_cast<unsigned long long>(comm_id),
                    static_cast<unsigned>(rank));
  SocketAddress result = made_of(address);
  result.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                        static_cast<std::size_t>(length));
  return result;
}

bool is_of_this_user(int fd) {
  ucred peer = {};
  socklen_t bytes = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

std::string to_text(const Meeting& meeting) {
  std::string text = "1 ";
  for (const char byte : meeting.secret) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  for (const SocketAddress& address : meeting.addresses) {
    char host[INET6_ADDRSTRLEN] = {};
    std::uint16_t port = 0;
    if (address.family() == AF_INET) {
      const auto* four = reinterpret_cast<const sockaddr_in*>(address.get());
      inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
      port = ntohs(four->sin_port);
    } else {
      const auto* six = reinterpret_cast<const sockaddr_in6*>(address.get());
      inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
      port = ntohs(six->sin6_port);
    }
    text += std::string(" ") + host + " " + std::to_string(port);
  }
  return text;
}

Meeting read_meeting(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  Meeting meeting;
  if (words.size() < 4 || words.size() % 2 != 0 || words[0] != "1") return {};
  if (!read_hex(words[1], meeting.secret)) return {};
  for (std::size_t i = 2; i < words.size() && meeting.addresses.size() < kMostAddresses; i += 2) {
    SocketAddress address;
    if (!read_address(words[i], words[i + 1], address)) return {};
    meeting.addresses.push_back(address);
  }
  return meeting;
}

std::vector<SocketAddress> own_addresses(std::uint16_t port) {
  std::vector<SocketAddress> result;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return result;
  for (const ifaddrs* each = interfaces; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0 ||
        (each->ifa_flags & IFF_LOOPBACK) != 0 || is_link_local(each->ifa_addr) ||
        result.size() == kMostAddresses) {
      continue;
    }
    if (each->ifa_addr->sa_family == AF_INET) {
      auto four = *reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
      four.sin_port = htons(port);
      result.push_back(made_of(four));
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      auto six = *reinterpret_cast<const sockaddr_in6*>(each->ifa_addr);
      six.sin6_port = htons(port);
      result.push_back(made_of(six));
    }
  }
  freeifaddrs(interfaces);
  return result;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  const ssize_t got = getrandom(bytes.data(), count, 0);
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace hocket::nccl
