#include "examples/gpt2/job/job_network.h"

#include <chrono>
#include <utility>

#include "core/host/gloo_collective.h"
#include "core/servers/tcp_servers.h"
#include "tuner/client/link/environment.h"

namespace hocket {

std::string JobNetwork::name() const {
  std::string name = sockets_->world_size() > 1 ? "tcp" : "local";
  if (emulated_link_) name = "emulated " + to_string(*emulated_link_);
  // What is best with servers is not best without.
  if (servers_) name += ", parameter servers: " + std::to_string(servers_->servers());
  return name;
}

Result<JobNetwork> connect_job(const JobOptions& options, const Clock& clock) {
  JobNetwork network;
  if (!options.link.empty()) {
    const auto link = parse_link(options.link);
    HOCKET_TRY(link);
    network.emulated_link_ = *link;
  }
  const auto ranks = read_rank_environment();
  HOCKET_TRY(ranks);
  if (network.emulated_link_ && !ranks->servers.empty()) {
    return failure(
        ErrorCode::invalid_argument,
        "--link: only the link between ranks is emulated, not that to parameter servers; "
        "leave out --link, or start the job without --servers");
  }
  network.local_rank_ = ranks->local_rank;
  const auto interface = process_environment("GLOO_SOCKET_IFNAME");
  const std::chrono::seconds timeout(options.timeout_seconds);
  auto sockets =
      connect_gloo({.ranks = *ranks, .timeout = timeout, .interface = interface.value_or("")});
  HOCKET_TRY(sockets);
  network.sockets_ = std::move(*sockets);
  if (network.emulated_link_) {
    network.emulation_ =
        std::make_unique<EmulatedLink>(*network.sockets_, *network.emulated_link_, clock);
  }
  if (ranks->servers.empty()) return network;
  auto servers = connect_servers({.rank = ranks->rank,
                                  .ranks = ranks->world_size,
                                  .addresses = ranks->servers,
                                  .secret = ranks->secret,
                                  .timeout_ns = std::chrono::nanoseconds(timeout).count()});
  HOCKET_TRY(servers);
  network.servers_ = std::move(*servers);
  return network;
}

}  // namespace hocket
