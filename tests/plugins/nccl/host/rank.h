#pragma once

// One rank's process after the fork.

#include <cstdint>
#include <vector>

#include "tests/plugins/nccl/host/options.h"
#include "tests/plugins/nccl/host/shared/process_group.h"
#include "tests/plugins/nccl/host/shared/run_record.h"

namespace hocket::nccl_host {

/// Memory that the parent prepares for all ranks.
struct SharedRun {
  SharedArena* arena = nullptr;
  RunState* state = nullptr;
  ViolationLog* violations = nullptr;
  RankRecord* records = nullptr;  ///< one a rank
  double *iteration_us = nullptr, *iteration_real_us = nullptr;
  std::uint64_t id = 0;  ///< new in each run
  /// Groups by communicator and by the part that a rank belongs to.
  std::vector<std::vector<ProcessGroup*>> groups;
};

SharedRun prepare_run(SharedArena& arena, const Options& options);
/// Returns the bytes that prepare_run() needs at most.
std::size_t shared_bytes(const Options& options);

/// Runs the workload as `rank`. Returns the exit status: 0, or 4 if the run was aborted.
int run_rank(const Options& options, SharedRun& shared, int rank);

}  // namespace hocket::nccl_host
