#include "core/protocol/host_port.h"

#include <charconv>

namespace hocket {

Result<HostPort> parse_host_port(std::string_view text) {
  const auto wrong = [&] {
    return failure(ErrorCode::invalid_argument,
                   "expected ADDRESS:PORT (127.0.0.1:7077, [::1]:7077, host:7077), found \"" +
                       std::string(text) + "\"");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return wrong();
  HostPort address{.host = std::string(host), .port = 0};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || rest != end) return wrong();
  return address;
}

std::string to_string(const HostPort& address) {
  const bool is_plain = address.host.find(':') == std::string::npos;
  return (is_plain ? address.host : "[" + address.host + "]") + ":" + std::to_string(address.port);
}

}  // namespace hocket
