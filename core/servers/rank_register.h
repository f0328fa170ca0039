#pragma once

// Decides which ranks a parameter server lets in, and records which have ended. Pure; one thread at
// a time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/servers/wire.h"

namespace hocket {

/// A server's number, and the size of its job.
struct ServerIdentity {
  int ranks = 1;
  int server = 0;   ///< number of this server, from 0
  int servers = 1;  ///< number of servers
};

class RankRegister {
 public:
  RankRegister(const ServerIdentity& identity, std::size_t connections_per_rank);

  /// Counts a connection of the rank that introduces itself. The error says what differs between
  /// this server and the rank, or why the rank may not connect (again).
  Result<void> enter(const server_wire::RankIdentity& peer);

  /// The rank says goodbye: its connections may end.
  void leave(int rank);

  /// A connection that was let in has ended: the one on which the rank said goodbye, which answers
  /// that first, or another one. Returns whether the rank is gone by that.
  bool end_connection(int rank, bool said_goodbye);

  /// Returns whether every rank has had its goodbye answered or is gone.
  bool all_ended() const { return ended_ == ranks_.size(); }

  /// unavailable, with the names of the ranks that are gone, if there are some.
  Result<void> outcome() const;

 private:
  enum class State { awaited, here, left, gone };
  struct Rank {
    State state = State::awaited;
    std::uint64_t session = 0;
    std::size_t connections = 0;
    bool ended = false;
  };

  const ServerIdentity identity_;
  const std::size_t connections_per_rank_;
  std::vector<Rank> ranks_;
  std::size_t ended_ = 0;
};

}  // namespace hocket
