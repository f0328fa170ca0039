#pragma once

// Ranks that are processes on one or several hosts, over TCP with Gloo. Sums over all ranks are
// Gloo's; what scatters, gathers, or is of some ranks goes round a ring of ours (gloo_ring.h).

#include <chrono>
#include <memory>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/host/rank_environment.h"

namespace hocket {

struct GlooOptions {
  RankEnvironment ranks;
  /// A peer that is silent for this long counts as gone, while connecting too.
  std::chrono::milliseconds timeout{30'000};
  /// Network interface to listen on; empty: the one that reaches a tcp:// rendezvous, or loopback
  /// for file:.
  std::string interface = {};
  /// Connections to each peer, used in turn by parts under way at once.
  int connections = 2;
};

/// Meets all other ranks and connects to each. Blocks until all are there. invalid_argument for a
/// rendezvous that is neither "file:FOLDER" nor "tcp://HOST:PORT" and for ranks_per_host that does
/// not divide the ranks, timed_out when a rank does not come. Where ranks differ in how many there
/// are on a host, ranks_per_host() is 1 on all.
Result<std::unique_ptr<Collective>> connect_gloo(const GlooOptions& options);

}  // namespace hocket
