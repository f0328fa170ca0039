#pragma once

// Rank and rendezvous of this process, as set by its launcher: hocket run, torchrun, mpirun (Open
// MPI, MPICH) or srun. Any thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  /// Rendezvous of the ranks: "file:FOLDER" (shared by all ranks) or "tcp://HOST:PORT" (rank 0
  /// listens there). May be empty for a single rank.
  std::string rendezvous = {};
  /// Rank among those of this host; `rank` if the launcher does not set it.
  int local_rank = 0;
  /// Ranks of every host if ranks are numbered host by host (core/step/rank_grid.h); 1 if they are
  /// not, if hosts have different numbers of ranks, or if the launcher does not set it.
  int ranks_per_host = 1;
  /// Proves to the others at a "tcp://" rendezvous that a rank belongs to the job; empty: ranks are
  /// let in without a proof.
  std::string secret = {};
  /// Addresses of the job's parameter servers, "HOST:PORT", in the order of their numbers.
  std::vector<std::string> servers = {};
};

/// Environment variable with these addresses, between commas.
inline constexpr const char* kServersVariable = "HOCKET_SERVERS";

/// Reads the environment of a launcher: the rendezvous from HOCKET_RENDEZVOUS or MASTER_ADDR and
/// MASTER_PORT; rank and world size from the first launcher that set both, with the rank on this
/// host and the ranks per host (core/host/launcher_variables.h); the secret from
/// HOCKET_RENDEZVOUS_SECRET; the parameter servers from HOCKET_SERVERS. `variable` looks up an
/// environment variable (tests pass their own). invalid_argument for numbers out of range and for
/// more than one rank without a rendezvous.
Result<RankEnvironment> read_rank_environment(
    const std::function<std::optional<std::string>(const char*)>& variable);

/// Reads the environment of the process.
Result<RankEnvironment> read_rank_environment();

}  // namespace hocket
