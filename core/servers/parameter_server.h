#pragma once

// A parameter server: sums what ranks push to it over TCP, and answers what they pull. One process
// usually has one. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/servers/part_sums.h"

namespace hocket {

struct ParameterServerOptions {
  /// Address to listen at, or a name for it.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one
  int ranks = 1;
  int server = 0;   ///< number of this server, from 0
  int servers = 1;  ///< number of servers of the job
  /// Ranks prove that they have it; empty: every rank is let in.
  std::string secret = {};
  /// Memory of the sums in progress and of the optimiser's state.
  std::size_t limit_bytes = kSumsLimitBytes;
  /// Threads that receive, add and send; 0: as many as processors, at most 4.
  int threads = 0;
  /// Time for a connection to introduce itself.
  std::int64_t patience_ns = 10'000'000'000;
  /// A rank whose host has not answered for so long is gone.
  std::int64_t silence_ns = 30'000'000'000;
  /// Connections that have not introduced themselves; for another one the oldest is ended.
  std::size_t strangers = 64;
  std::size_t connections_per_rank = 256;
};

/// Serves on threads of its own until it is destroyed.
class ParameterServer final {
 public:
  ~ParameterServer();
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  std::uint16_t port() const;

  /// Blocks until every rank has said goodbye or is gone, or stop() was called. unavailable, with
  /// the names of the ranks that are gone, if there are some.
  Result<void> wait();

  /// Ends every connection and lets wait() return.
  void stop();

  /// Memory of the sums in progress, without the optimiser's state.
  std::size_t used_bytes() const;

  /// invalid_argument if a number is out of range; unavailable if it cannot listen there.
  static Result<std::unique_ptr<ParameterServer>> listen(const ParameterServerOptions& options);

 private:
  class Service;
  explicit ParameterServer(std::unique_ptr<Service> service);

  const std::unique_ptr<Service> service_;
};

}  // namespace hocket
