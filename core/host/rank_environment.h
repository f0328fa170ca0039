#pragma once

// This process's place among the ranks, as its launcher tells it: hocket run, torchrun, mpirun
// (Open MPI, MPICH) or srun.

#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace hocket {

struct RankEnvironment {
  int rank = 0;
  int world_size = 1;
  /// Where the ranks find each other: "file:FOLDER" (shared by all ranks) or "tcp://HOST:PORT"
  /// (rank 0 listens there). Empty for a single rank that was told none.
  std::string rendezvous = {};
  /// Among the ranks of this host; `rank` where the launcher does not say.
  int local_rank = 0;
  /// Of every host, where ranks are numbered host by host (core/step/rank_grid.h); 1 where they are
  /// not, where hosts have different numbers of them, and where the launcher does not say.
  int ranks_per_host = 1;
};

/// Reads HOCKET_RENDEZVOUS or MASTER_ADDR and MASTER_PORT, and the rank and world size from the
/// first launcher that set both: RANK/WORLD_SIZE, OMPI_COMM_WORLD_RANK/_SIZE, PMI_RANK/PMI_SIZE,
/// SLURM_PROCID/SLURM_NTASKS; the rank on this host from LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK,
/// MPI_LOCALRANKID or SLURM_LOCALID; and how many a host has from LOCAL_WORLD_SIZE,
/// OMPI_COMM_WORLD_LOCAL_SIZE, MPI_LOCALNRANKS or SLURM_NTASKS_PER_NODE. `variable` looks up an
/// environment variable (tests pass their own). invalid_argument for numbers that are out of range
/// or more than one rank without a rendezvous.
Result<RankEnvironment> read_rank_environment(
    const std::function<std::optional<std::string>(const char*)>& variable);

/// From the process's environment.
Result<RankEnvironment> read_rank_environment();

}  // namespace hocket
