#pragma once

// Ranks as processes on one or several hosts, over TCP with Gloo. All-reduces over all ranks use
// Gloo's algorithm; other kinds, groups and parts of blocks use the ring in gloo_ring.h. Every rank
// is connected to every other, so a group needs no connections of its own. Sends and receives use
// sockets of their own (core/host/messages), made when two ranks first need them; a send may return
// before the other rank receives.

#include <chrono>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/host/rank_environment.h"

namespace hocket {

struct GlooOptions {
  RankEnvironment ranks;
  /// Time after which a silent peer counts as gone, also while connecting.
  std::chrono::milliseconds timeout{30'000};
  /// Network interface to listen on; empty: the one that reaches a tcp:// rendezvous, or loopback
  /// for file:.
  std::string interface = {};
  /// Connections to each peer, used in turn by concurrent parts.
  int connections = 2;
  /// Axes of the mesh, the same on every rank; none: hosts and places alone.
  std::vector<MeshAxis> axes = {};
};

/// Connects to all other ranks. Blocks until all have arrived. At "tcp://HOST:PORT" rank 0 listens
/// as TcpStoreServer::listen() describes (core/host/tcp_store.h). invalid_argument for a rendezvous
/// that is neither "file:FOLDER" nor "tcp://HOST:PORT", for ranks with different secrets, and for
/// ranks_per_host that does not divide the ranks, or axes that do not fit it; timed_out when a rank
/// does not arrive. If ranks differ in ranks_per_host, ranks_per_host() is 1 on all.
Result<std::unique_ptr<Collective>> connect_gloo(const GlooOptions& options);

}  // namespace hocket
