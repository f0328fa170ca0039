#pragma once

// A key-value store at one TCP address through which ranks on different hosts find each other. Rank
// 0 serves it. Keys and values are small (addresses); nothing is ever deleted.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Serves clients until it is destroyed. Thread-safe.
class TcpStoreServer {
 public:
  virtual ~TcpStoreServer() = default;
  virtual std::uint16_t port() const = 0;

  /// Listens on `port` (0: any free one) of all interfaces; unavailable when the port is taken.
  static Result<std::unique_ptr<TcpStoreServer>> listen(std::uint16_t port);
};

/// One rank's connection. Not thread-safe.
class TcpStoreClient {
 public:
  virtual ~TcpStoreClient() = default;

  virtual Result<void> set(const std::string& key, const std::vector<char>& value) = 0;
  /// Returns the value of `key`. Blocks until the key is set, at most `timeout`; then timed_out.
  virtual Result<std::vector<char>> get(const std::string& key,
                                        std::chrono::milliseconds timeout) = 0;
  /// Returns the address of this host from which it reaches the server.
  virtual std::string local_address() const = 0;

  /// Connects to the server. Retries until it answers, at most `timeout`; then timed_out.
  static Result<std::unique_ptr<TcpStoreClient>> connect(const std::string& host,
                                                         std::uint16_t port,
                                                         std::chrono::milliseconds timeout);
};

}  // namespace hocket
