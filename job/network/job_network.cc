#include "job/network/job_network.h"

#include <chrono>
#include <utility>

#include "client/link/environment.h"
#include "core/collective/served_paths.h"
#include "core/host/gloo_collective.h"
#include "core/host/link_queues.h"
#include "core/servers/emulated_servers.h"
#include "core/servers/tcp_servers.h"

namespace hocket {

std::string JobNetwork::name() const {
  std::string name = sockets_->world_size() > 1 ? "tcp" : "local";
  if (emulated_link_) name = "emulated " + to_string(*emulated_link_);
  // A configuration that is best with servers is not best without.
  if (servers_) name += ", parameter servers: " + std::to_string(servers_->servers());
  if (!emulated_server_links_) return name;
  if (emulated_server_links_->colocated) return name + " on hosts of ranks";
  return name + " on " + to_string(emulated_server_links_->server_link);
}

namespace {

/// Returns the links to the parameter servers that the options ask for, if they do; `rank_link` is
/// that of each rank.
Result<std::optional<StepServers>> server_links(const NetworkOptions& options,
                                                const std::optional<LinkSpec>& rank_link,
                                                const RankEnvironment& ranks) {
  if (ranks.servers.empty()) {
    const char* const about_servers = options.colocated_servers      ? "--colocated-servers"
                                      : !options.server_link.empty() ? "--server-link"
                                                                     : nullptr;
    if (!about_servers) return std::nullopt;
    return invalid(std::string(about_servers) +
                   ": the job has no parameter servers; start it with hocket run --servers N, or "
                   "leave the option out");
  }
  if (!rank_link) return std::nullopt;
  StepServers links{.servers = static_cast<std::int64_t>(ranks.servers.size()),
                    .rank_link = *rank_link,
                    .server_link = *rank_link,
                    .colocated = options.colocated_servers};
  if (options.server_link.empty()) return links;
  const auto server_link = parse_link(options.server_link);
  if (!server_link) return failure(server_link.error().in("--server-link"));
  links.server_link = *server_link;
  return links;
}

}  // namespace

Result<void> validate(const NetworkOptions& options) {
  if (!options.server_link.empty() && options.colocated_servers)
    return invalid("--server-link: colocated servers share the links of ranks; leave out one");
  if (!options.link.empty()) return {};
  if (!options.server_link.empty())
    return invalid("--server-link: links are emulated only with --link; add --link RATE");
  if (options.colocated_servers)
    return invalid("--colocated-servers: links are emulated only with --link; add --link RATE");
  return {};
}

Result<JobNetwork> connect_job(const NetworkOptions& options, const Clock& clock) {
  JobNetwork network;
  if (!options.link.empty()) {
    const auto link = parse_link(options.link);
    HOCKET_TRY(link);
    network.emulated_link_ = *link;
  }
  const auto ranks = read_rank_environment();
  HOCKET_TRY(ranks);
  const auto links = server_links(options, network.emulated_link_, *ranks);
  HOCKET_TRY(links);
  network.emulated_server_links_ = *links;
  network.local_rank_ = ranks->local_rank;
  const auto interface = process_environment("GLOO_SOCKET_IFNAME");
  const std::chrono::seconds timeout(options.timeout_seconds);
  auto sockets =
      connect_gloo({.ranks = *ranks, .timeout = timeout, .interface = interface.value_or("")});
  HOCKET_TRY(sockets);
  network.sockets_ = std::move(*sockets);
  if (network.emulated_link_) {
    auto emulation = EmulatedLink::shared(*network.sockets_, *network.emulated_link_, clock);
    HOCKET_TRY(emulation);
    network.emulation_ = std::move(*emulation);
  }
  if (ranks->servers.empty()) return network;
  auto servers = connect_servers({.rank = ranks->rank,
                                  .ranks = ranks->world_size,
                                  .addresses = ranks->servers,
                                  .secret = ranks->secret,
                                  .timeout_ns = std::chrono::nanoseconds(timeout).count()});
  HOCKET_TRY(servers);
  network.servers_ = std::move(*servers);
  if (!*links) return network;
  auto queues = share_link_queues(
      *network.sockets_,
      ServedPaths(**links, static_cast<std::size_t>(ranks->world_size)).bytes_per_second());
  HOCKET_TRY(queues);
  network.servers_ = std::make_unique<EmulatedServers>(std::move(network.servers_), **links,
                                                       std::move(*queues), clock);
  return network;
}

}  // namespace hocket
