#pragma once

// Makes this process the start of jobs of its own, when a launcher has started it as one of the
// ranks of a job: mpirun, srun or torchrun around `hocket work`, a batch script of Slurm around
// `hocket tune`. Its commands would otherwise take themselves for a rank that waits for the others,
// and an mpirun among them refuses to start.

#include <string>
#include <vector>

namespace hocket {

/// Returns those of the variables `names` that tell a process its rank, or belong to the launcher
/// of the ranks. What Slurm says of an allocation stays, since an srun in it needs that; of a step
/// of several tasks it goes, too.
std::vector<std::string> rank_variables(const std::vector<std::string>& names);

/// Returns this process's rank among those of its host, as its launcher says; "0" without one.
std::string rank_on_host();

/// Removes them from the environment of this process. Requires that no other thread runs.
void forget_rank();

}  // namespace hocket
