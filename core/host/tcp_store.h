#pragma once

// A key-value store at one TCP address through which ranks on different hosts find each other. Rank
// 0 serves it. Keys and values are small (addresses); nothing is ever deleted. A secret keeps out
// clients that do not have it; what follows the proof is neither encrypted nor signed.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Limits of a server. A request beyond them gets an error, or the connection is closed.
struct TcpStoreLimits {
  std::size_t key_bytes = 256;
  std::size_t value_bytes = 1 << 20;
  std::size_t keys = 4096;
  /// Total size of all keys and values, including values that are still being received.
  std::size_t total_bytes = 64 << 20;
  std::size_t connections = 256;
  /// Time for a client to prove that it has the secret, and to finish a request that it has begun.
  std::chrono::milliseconds patience{30'000};
  /// Pause after a connection could not be accepted, usually because no descriptors are left.
  std::chrono::milliseconds accept_pause{100};

  /// Returns limits for Gloo's addresses: `ranks` ranks that meet `meetings` times each.
  static TcpStoreLimits for_ranks(std::size_t ranks, std::size_t meetings);
};

struct TcpStoreServerOptions {
  /// Address to listen at, or a name for it.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one
  /// All clients are on this host, so an address that only this host reaches will do.
  bool local_clients = true;
  /// Clients prove that they have it; empty: everyone is let in.
  std::string secret = {};
  TcpStoreLimits limits = {};
};

/// Serves clients on a thread of its own until it is destroyed. Thread-safe.
class TcpStoreServer final {
 public:
  ~TcpStoreServer();
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

  std::uint16_t port() const;
  /// Returns how many times accepting a connection has failed.
  std::uint64_t failed_accepts() const;

  /// Listens at the addresses of `host` that this host has. If it has none (an address that is
  /// translated on the way), or only loopback ones although clients are elsewhere, it listens at
  /// every address with a secret, and without one returns unavailable. unavailable also when the
  /// port is taken.
  static Result<std::unique_ptr<TcpStoreServer>> listen(const TcpStoreServerOptions& options);

 private:
  class Service;
  explicit TcpStoreServer(std::unique_ptr<Service> service);

  const std::unique_ptr<Service> service_;
};

/// One rank's connection. Not thread-safe.
class TcpStoreClient final {
 public:
  ~TcpStoreClient();
  TcpStoreClient(const TcpStoreClient&) = delete;
  TcpStoreClient& operator=(const TcpStoreClient&) = delete;

  Result<void> set(const std::string& key, const std::vector<char>& value);
  /// Returns the value of `key`. Blocks until the key is set, at most `timeout`; then timed_out.
  Result<std::vector<char>> get(const std::string& key, std::chrono::milliseconds timeout);
  /// Returns the address of this host from which it reaches the server.
  std::string local_address() const;

  /// Connects to the server and proves to it, and it to this client, that both have `secret`.
  /// Retries until it answers, at most `timeout`; then timed_out. invalid_argument, at once, if one
  /// side has another secret or none.
  static Result<std::unique_ptr<TcpStoreClient>> connect(const std::string& host,
                                                         std::uint16_t port,
                                                         std::chrono::milliseconds timeout,
                                                         const std::string& secret = {});

 private:
  class Connection;
  explicit TcpStoreClient(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Connection> connection_;
};

}  // namespace hocket
