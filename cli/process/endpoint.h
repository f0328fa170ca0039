#pragma once

// Addresses to listen at, as options give them. Any thread.

#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hocket {

struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};

/// Parses "ADDRESS:PORT", with an IPv6 address in brackets. invalid_argument names `option`.
Result<Endpoint> parse_endpoint(const std::string& option, const std::string& text);

/// Returns the text that parse_endpoint() parses.
std::string to_string(const Endpoint& endpoint);

}  // namespace hocket
