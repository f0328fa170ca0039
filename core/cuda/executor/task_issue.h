#pragma once

// Puts one task after another into streams: its waits, the memory that lives within the step, what
// its body or the collective does, and the ends of memory. One thread uses it.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/executor/device_memory.h"
#include "core/cuda/executor/device_task.h"
#include "core/cuda/streams/stream_queues.h"
#include "core/scheduler/executor.h"
#include "core/step/task.h"
#include "core/step/task_body.h"

namespace hocket {

class TaskIssue {
 public:
  /// All must outlive it.
  TaskIssue(StreamQueues& queues, DeviceMemory& memory, DeviceGroups& groups)
      : queues_(queues), memory_(memory), groups_(groups) {}

  /// Gives where it is. `work`, if there is one, comes out when it has run; its lane is set here.
  /// unavailable when the body throws.
  Result<StreamPosition> compute(std::span<const Access> accesses, TaskBody& body,
                                 std::optional<DeviceWork> work);
  /// The same of a part, which comes after the positions `also_after`, too
  /// (StreamMapping::place_part). invalid_argument when the values live within the step.
  Result<StreamPosition> part(const PartWork& part, std::optional<DeviceWork> work,
                              std::span<const StreamPosition> also_after = {});

 private:
  struct LateRelease {
    DataId data;
    StreamPlacement placement;
  };

  /// Frees what the task at `position` was the last to use, where that comes after all uses;
  /// `late_` gets the rest.
  Result<void> release_here(StreamPosition position, DeviceStream stream);
  Result<void> release_late();

  StreamQueues& queues_;
  DeviceMemory& memory_;
  DeviceGroups& groups_;
  // Scratch:
  std::vector<DataId> last_used_;
  std::vector<LateRelease> late_;
};

}  // namespace hocket
