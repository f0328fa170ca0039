#include "core/protocol/ip_address.h"

#include <arpa/inet.h>
#include <strings.h>

#include <algorithm>

namespace hocket {
namespace {

constexpr std::size_t kMappedPrefixBytes = 12;
constexpr IpBytes kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr IpBytes kLoopbackV6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

}  // namespace

std::optional<IpBytes> parse_ip(std::string_view text) {
  char copy[INET6_ADDRSTRLEN] = {};
  if (text.find(':') != std::string_view::npos) text = text.substr(0, text.find('%'));
  if (text.empty() || text.size() >= sizeof copy) return std::nullopt;
  std::copy(text.begin(), text.end(), copy);
  IpBytes address = kMappedPrefix;
  if (::inet_pton(AF_INET, copy, address.data() + kMappedPrefixBytes) == 1) return address;
  if (::inet_pton(AF_INET6, copy, address.data()) == 1) return address;
  return std::nullopt;
}

bool is_loopback(const IpBytes& address) {
  const bool is_v4 =
      std::equal(address.begin(), address.begin() + kMappedPrefixBytes, kMappedPrefix.begin());
  return is_v4 ? address[kMappedPrefixBytes] == 127 : address == kLoopbackV6;
}

bool is_loopback_host(std::string_view host) {
  constexpr std::string_view kName = "localhost";
  if (host.size() == kName.size() && ::strncasecmp(host.data(), kName.data(), kName.size()) == 0)
    return true;
  const auto address = parse_ip(host);
  return address && is_loopback(*address);
}

}  // namespace hocket
