#pragma once

// IP addresses as bytes, to compare them however they are written. Pure; thread-safe.

#include <array>
#include <optional>
#include <string_view>

namespace hocket {

/// An IPv6 address in network order, or an IPv4 address mapped to one (RFC 4291, section 2.5.5.2).
using IpBytes = std::array<unsigned char, 16>;

/// Parses an IPv4 or IPv6 address without brackets; ignores an IPv6 zone ("%eth0").
std::optional<IpBytes> parse_ip(std::string_view text);

bool is_loopback(const IpBytes& address);

/// Returns whether `host` is a loopback address or the name localhost.
bool is_loopback_host(std::string_view host);

}  // namespace hocket
