#pragma once

// Address of the daemon and the client's credentials. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

#include "client/link/environment.h"
#include "core/base/result.h"

namespace hocket {

struct DaemonAddress {
  bool tls = false;
  std::string host;  ///< name or IP address; IPv6 without brackets
  std::uint16_t port = 0;

  bool operator==(const DaemonAddress&) const = default;
};

/// Parses "http://HOST[:PORT]" or "https://HOST[:PORT]", with an IPv6 address in brackets. The port
/// defaults to 80 or 443.
Result<DaemonAddress> parse_daemon_address(std::string_view text);
std::string to_string(const DaemonAddress& address);

/// Address of the daemon and the credentials for it.
struct DaemonAccess {
  DaemonAddress address;
  std::string token = {};    ///< sent as "Authorization: Bearer"; empty: no token
  std::string ca_file = {};  ///< trusted certificate authorities for TLS; empty: the system's
};

/// Reads HOCKET_DAEMON. Returns not_found if it is unset or empty, and invalid_argument for an
/// invalid address.
Result<DaemonAddress> daemon_address_from_environment(
    const Environment& environment = process_environment);

/// Reads HOCKET_DAEMON, HOCKET_CA_FILE and the token: from the file that HOCKET_TOKEN_FILE names;
/// without it, and on a loopback address, the one that the daemon made for the same user
/// (core/protocol/daemon_token.h), if there is one. Errors: those of
/// daemon_address_from_environment(); invalid_argument for an unusable token file, such as one that
/// other users can read, and for a token that would be sent in plain text to another host, unless
/// HOCKET_ALLOW_PLAIN_TOKEN is 1.
Result<DaemonAccess> daemon_from_environment(const Environment& environment = process_environment);

}  // namespace hocket
