#include "cli/process/endpoint.h"

namespace hocket {

Result<Endpoint> parse_endpoint(const std::string& option, const std::string& text) {
  const auto wrong = [&] {
    return failure(ErrorCode::invalid_argument,
                   option +
                       ": expected ADDRESS:PORT (127.0.0.1:7077, [::1]:7077; port 0 for any), "
                       "found \"" +
                       text + "\"");
  };
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return wrong();
  Endpoint endpoint{.address = text.substr(0, colon)};
  if (endpoint.address.front() == '[' && endpoint.address.back() == ']') {
    endpoint.address = endpoint.address.substr(1, endpoint.address.size() - 2);
  }
  const std::string port = text.substr(colon + 1);
  if (port.empty() || port.size() > 5) return wrong();
  std::int64_t number = 0;
  for (const char c : port) {
    if (c < '0' || c > '9') return wrong();
    number = 10 * number + (c - '0');
  }
  if (number > 65'535) return wrong();
  endpoint.port = static_cast<std::uint16_t>(number);
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool is_plain = endpoint.address.find(':') == std::string::npos;
  return (is_plain ? endpoint.address : "[" + endpoint.address + "]") + ":" +
         std::to_string(endpoint.port);
}

}  // namespace hocket
