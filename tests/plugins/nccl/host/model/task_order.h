#pragma once

// The order in which NCCL 2.28.9 decides the collectives of a group on one communicator, and which
// of them it decides together. Pure; any thread.

#include <cstdint>
#include <vector>

#include "tests/plugins/nccl/host/model/workload.h"

namespace hocket::nccl_host {

struct Task {
  int function = kAllReduce;
  std::uint64_t count = 0;  ///< elements that one rank sends or receives, whichever is less
  Datatype datatype = {};
  /// The profiler's mask and the handle of its event for the call, from when it was enqueued.
  int mask = 0;
  void* api_event = nullptr;
};

/// Returns the task for a step of the workload. All-gathers and broadcasts count bytes.
Task task_of(const Step& step, int ranks);

/// Collectives that are decided by one call.
struct Aggregate {
  std::vector<Task> tasks;
  std::uint64_t bytes = 0;  ///< of the larger buffers of all tasks
};

/// Groups tasks by function and type, the group of the largest task first. Within a group, tasks
/// ascend by size, in steps of a quarter of a power of two, and each aggregate reaches to less than
/// four times its first. Sizes are those of the traffic.
std::vector<Aggregate> aggregates(const std::vector<Task>& tasks, int ranks);

}  // namespace hocket::nccl_host
