#pragma once

// The environment variables by which launchers tell a process its rank. A new launcher is added
// here alone. Pure; thread-safe.

#include <span>
#include <string_view>

namespace hocket {

struct LauncherVariables {
  /// Variables with the process's rank, the number of ranks, and the same two for its host.
  const char *rank, *size, *local_rank, *local_size;
  /// True when the local size is the requested number of ranks, not the actual one.
  bool local_size_is_a_wish = false;
  /// Names, and beginnings of names, of further variables that the launcher sets for a rank or for
  /// itself.
  std::span<const std::string_view> names = {}, prefixes = {};
  /// Set where the ranks are a step of an allocation. Outside of steps `size` and `local_size` are
  /// the allocation's and say nothing of ranks. Null for a launcher without allocations.
  const char* step = nullptr;
  /// As `names` and `prefixes`, but only in a step; otherwise they are the allocation's.
  std::span<const std::string_view> step_names = {}, step_prefixes = {};
};

/// Returns the launchers in the order in which they are looked for: torchrun, Open MPI, MPICH and
/// Intel MPI, Slurm.
std::span<const LauncherVariables> launcher_variables();

}  // namespace hocket
