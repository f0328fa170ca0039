#pragma once

// Where the daemon is and how a client proves who it is. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tuner/client/link/environment.h"

namespace hocket {

struct DaemonAddress {
  bool tls = false;
  std::string host;  ///< a name or an IP address, IPv6 without brackets
  std::uint16_t port = 0;

  bool operator==(const DaemonAddress&) const = default;
};

/// Reads "http://HOST[:PORT]" or "https://HOST[:PORT]", with an IPv6 address in brackets. The port
/// is 80 or 443 when there is none.
Result<DaemonAddress> parse_daemon_address(std::string_view text);
std::string to_string(const DaemonAddress& address);

/// How to reach the daemon, and as whom.
struct DaemonAccess {
  DaemonAddress address;
  std::string token = {};    ///< sent as "Authorization: Bearer"; "": none
  std::string ca_file = {};  ///< whom to trust over TLS; "": the system's authorities
};

/// From HOCKET_DAEMON, HOCKET_TOKEN_FILE and HOCKET_CA_FILE. not_found when HOCKET_DAEMON is unset
/// or empty; invalid_argument for an address or a token file that cannot be used, such as one that
/// others can read.
Result<DaemonAccess> daemon_from_environment(const Environment& environment = process_environment);

}  // namespace hocket
