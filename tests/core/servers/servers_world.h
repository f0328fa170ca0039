#pragma once

// Parameter servers with ranks that are threads of this process, in memory, the same over emulated
// links, or over TCP.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/servers/emulated_servers.h"
#include "core/servers/local_servers.h"
#include "core/servers/parameter_server.h"
#include "core/servers/tcp_servers.h"

namespace hocket {

inline constexpr std::int64_t kUnhurriedNs = 120'000'000'000;
/// For tests in which time runs out.
inline constexpr std::int64_t kShortNs = 30'000'000;

class ServersWorld {
 public:
  virtual ~ServersWorld() = default;
  virtual std::unique_ptr<ParameterServers> join(int rank) = 0;
};

struct ServersSetup {
  int ranks = 2, servers = 1;
  std::int64_t timeout_ns = kUnhurriedNs;  ///< of sums
  std::size_t limit_bytes = kSumsLimitBytes;
};

class LocalWorld final : public ServersWorld {
 public:
  explicit LocalWorld(const ServersSetup& setup)
      : servers_(setup.ranks, setup.servers, setup.timeout_ns, setup.limit_bytes) {}
  std::unique_ptr<ParameterServers> join(int rank) override { return servers_.join(rank); }

 private:
  LocalServers servers_;
};

class TcpWorld final : public ServersWorld {
 public:
  explicit TcpWorld(const ServersSetup& setup, ParameterServerOptions options = {})
      : setup_(setup), secret_(options.secret) {
    options.ranks = setup.ranks;
    options.servers = setup.servers;
    options.limit_bytes = setup.limit_bytes;
    options.threads = 3;
    for (options.server = 0; options.server < setup.servers; ++options.server)
      servers_.push_back(ParameterServer::listen(options).value());
  }

  TcpServersOptions options(int rank) const {
    TcpServersOptions options;
    options.rank = rank;
    options.ranks = setup_.ranks;
    options.secret = secret_;
    options.timeout_ns = kUnhurriedNs;
    options.sum_timeout_ns = setup_.timeout_ns;
    for (const auto& server : servers_)
      options.addresses.push_back("127.0.0.1:" + std::to_string(server->port()));
    return options;
  }
  std::unique_ptr<ParameterServers> join(int rank) override {
    auto connected = connect_servers(options(rank));
    EXPECT_TRUE(connected) << connected.error().message;
    return std::move(connected).value();
  }
  ParameterServer& server(int number = 0) { return *servers_[static_cast<std::size_t>(number)]; }
  std::string name(int number = 0) {
    return "parameter server " + std::to_string(number) +
           " (127.0.0.1:" + std::to_string(server(number).port()) + ")";
  }

 private:
  const ServersSetup setup_;
  const std::string secret_;
  std::vector<std::unique_ptr<ParameterServer>> servers_;
};

/// The servers in memory, over emulated links that are fast.
class EmulatedWorld final : public ServersWorld {
 public:
  explicit EmulatedWorld(const ServersSetup& setup)
      : spec_{.servers = setup.servers,
              .rank_link = {.bytes_per_second = 1e11, .latency_ns = 1000},
              .server_link = {.bytes_per_second = 1e11, .latency_ns = 1000}},
        paths_(spec_, static_cast<std::size_t>(setup.ranks)),
        links_(LinkQueues::make(paths_.bytes_per_second()).value()),
        local_(setup) {}

  std::unique_ptr<ParameterServers> join(int rank) override {
    return std::make_unique<EmulatedServers>(
        local_.join(rank), spec_,
        LinkQueues::open(links_.name(), paths_.bytes_per_second()).value(), clock_);
  }

 private:
  const StepServers spec_;
  const ServedPaths paths_;
  const LinkQueues links_;
  const SteadyClock clock_;
  LocalWorld local_;
};

/// Runs `body(rank, servers)` on one thread per rank, which leaves when it returns.
inline void run_ranks(ServersWorld& world, int ranks,
                      const std::function<void(int, ParameterServers&)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto servers = world.join(rank);
      body(rank, *servers);
    });
  }
}

inline Result<void> push_ones(ParameterServers& servers, const ServedPart& part,
                              std::size_t size = 10) {
  return servers.push(part, std::vector<float>(size, 1));
}

/// Waits for the next sum of the part's server, which must be this part, and pulls it.
inline Result<std::vector<float>> summed(ParameterServers& servers, const ServedPart& part,
                                         std::size_t size = 10) {
  const auto next = servers.next_sum(part.server);
  HOCKET_TRY(next);
  if (*next != part) return failure(ErrorCode::not_found, "the next sum is another one or none");
  std::vector<float> values(size);
  HOCKET_TRY(servers.pull(part, values));
  return values;
}

/// Pushes ones and returns their sum, if the part is the next sum.
inline Result<std::vector<float>> exchange_ones(ParameterServers& servers, const ServedPart& part,
                                                std::size_t size = 10) {
  HOCKET_TRY(push_ones(servers, part, size));
  return summed(servers, part, size);
}

}  // namespace hocket
