#pragma once

// Parameter servers over TCP (core/servers/parameter_server.h), as one rank uses them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/parameter_servers.h"

namespace hocket {

struct TcpServersOptions {
  int rank = 0;
  int ranks = 1;
  /// The servers' addresses by number, "host:port" or "[address]:port", the same on every rank.
  std::vector<std::string> addresses = {};
  /// The ranks' and servers' secret (core/greeting/rendezvous_secret.h); empty: none.
  std::string secret = {};
  /// Limit for connecting to all servers, which may start later than ranks, and for a server's
  /// silence.
  std::int64_t timeout_ns = 30'000'000'000;
  /// Limit for sums that wait for other ranks; 0: timeout_ns.
  std::int64_t sum_timeout_ns = 0;
  /// For the limit for connecting; nullptr: the machine's clock. It outlives the call.
  const Clock* clock = nullptr;
};

/// Connects to every server. The rank has left when the result is destroyed, which no call may be
/// using any more; it is gone when it aborts or its process dies. invalid_argument if an address
/// cannot be read, or if a server was started for other ranks, servers or another secret;
/// timed_out if a server did not answer in time. Errors name the server.
Result<std::unique_ptr<ParameterServers>> connect_servers(const TcpServersOptions& options);

}  // namespace hocket
