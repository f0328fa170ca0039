#pragma once

// Addresses as people write them, "HOST:PORT". Pure; thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct HostPort {
  /// A name, or an IP address without brackets.
  std::string host;
  std::uint16_t port = 0;
};

/// Parses "HOST:PORT", with an IPv6 address in brackets. invalid_argument says how an address is
/// written.
Result<HostPort> parse_host_port(std::string_view text);

/// Returns the text that parse_host_port() parses.
std::string to_string(const HostPort& address);

}  // namespace hocket
