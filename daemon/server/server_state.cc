#include "daemon/server/server_state.h"

#include <algorithm>

namespace hocket {
namespace {

constexpr std::size_t kRateLimitedClients = 4096;

/// Returns the number that identifies a client. An IPv6 host has a whole network of 2^64 addresses,
/// so the first half of its address identifies it. No such network has the number of an IPv4
/// address: ::/64 is reserved.
std::uint64_t client_number(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_v4().to_uint();
  const asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_uint();
  }
  std::uint64_t network = 0;
  const auto bytes = v6.to_bytes();
  for (int i = 0; i < 8; ++i) network = network << 8 | bytes[i];
  return network;
}

}  // namespace

ServerCounts ServerCounters::read() const {
  ServerCounts counts;
  for (int i = 0; i < 6; ++i) counts.responses_by_class[i] = responses_by_class[i].value();
  counts.connections = connections.value();
  counts.refused_connections = refused_connections.value();
  counts.received_bytes = received_bytes.value();
  counts.sent_bytes = sent_bytes.value();
  counts.events = events.value();
  counts.rate_limited = rate_limited.value();
  counts.timeouts = timeouts.value();
  counts.malformed = malformed.value();
  counts.foreign = foreign.value();
  counts.failed_handshakes = failed_handshakes.value();
  counts.open_connections = open_connections.value();
  counts.open_streams = open_streams.value();
  return counts;
}

ServerState::ServerState(ServerOptions server_options, Service& server_service, Feed& feed,
                         Log server_log, InternalErrors internal_errors)
    : options(std::move(server_options)),
      service(server_service),
      log(std::move(server_log)),
      errors(std::move(internal_errors)),
      workers(static_cast<std::size_t>(std::max(1, options.worker_threads))),
      searching(static_cast<std::size_t>(std::max(1, options.search_threads))),
      browsing(static_cast<std::size_t>(std::max(1, options.browse_threads))),
      topics(feed) {
  const ServerLimits& limits = options.limits;
  if (limits.requests_per_second > 0) {
    const double burst = limits.burst > 0 ? limits.burst : limits.requests_per_second;
    rate_limit_.emplace(limits.requests_per_second, burst, kRateLimitedClients);
  }
}

std::int64_t ServerState::wait_ns(const asio::ip::address& client) {
  return rate_limit_ ? rate_limit_->wait_ns(client_number(client), now_ns()) : 0;
}

void ServerState::warn_of(std::string_view message, std::string_view peer, LogField detail) {
  const auto others = lines_.allow(std::string(peer) + '\n' + std::string(message), now_ns());
  if (!others) return;
  log.write(LogLevel::warning, message, {{"peer", peer}, detail, {"others", *others}});
}

asio::thread_pool& ServerState::threads_for(RequestLabour labour) {
  switch (labour) {
    case RequestLabour::search:
      return searching;
    case RequestLabour::browse:
      return browsing;
    case RequestLabour::brief:
      break;
  }
  return workers;
}

const std::string& ServerState::date() {
  const std::time_t now = std::time(nullptr);
  if (now != dated_) {
    dated_ = now;
    std::tm parts = {};
    gmtime_r(&now, &parts);
    char text[64];
    // The program sets no locale, so the names are in English as HTTP requires.
    date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts));
  }
  return date_;
}

}  // namespace hocket
