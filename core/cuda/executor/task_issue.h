#pragma once

// Puts tasks into streams one by one: their waits, the memory that lives within the step, the work
// of the body or collective, and the release of memory. One thread uses it.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/executor/device_memory.h"
#include "core/cuda/executor/device_task.h"
#include "core/cuda/executor/host_tasks.h"
#include "core/cuda/streams/stream_queues.h"
#include "core/scheduler/executor.h"
#include "core/step/task.h"
#include "core/step/task_body.h"

namespace hocket {

class TaskIssue {
 public:
  /// All arguments must outlive it.
  TaskIssue(DeviceDriver& driver, StreamQueues& queues, DeviceMemory& memory, DeviceGroups& groups)
      : driver_(driver), queues_(queues), memory_(memory), groups_(groups) {}

  /// Issues a compute task and returns its position. `work`, if not null, is reported when the task
  /// has run; its lane is set here. Returns unavailable when the body throws or leaves a launch
  /// error (DeviceDriver::take_launch_error). None may be pending before: it would be taken for the
  /// task's.
  Result<StreamPosition> compute(std::span<const Access> accesses, TaskBody& body,
                                 DeviceWork* work);
  /// Does the same for a copy or a task of the host, in the stream of its lane, whose data are not
  /// those that live within a step. The lane in `work` is as the trace counts it.
  Result<void> in_lane(TaskLane lane, const ComputeWork& task, HostTasks& host_tasks,
                       DeviceWork& work);
  /// A part whose stream waits for what must come before.
  struct BegunPart {
    StreamPosition position;
    DeviceStream stream;
    int channel = 0;
  };

  /// Issues a part, which also comes after the positions `also_after` (StreamMapping::place_part).
  /// Returns invalid_argument when its values live within the step. Leaves no launch error pending:
  /// collectives return their errors.
  Result<StreamPosition> part(const PartWork& part, DeviceWork* work,
                              std::span<const StreamPosition> also_after = {});

  /// Does the first and the last third of part(): between them the caller puts the exchange into
  /// the stream, and nothing else may be put into it. Other tasks may be issued meanwhile if none
  /// of them waits for the part.
  Result<BegunPart> begin_part(const PartWork& part, DeviceWork* work,
                               std::span<const StreamPosition> also_after = {});
  Result<void> end_part(const BegunPart& begun, const DeviceWork* work);

 private:
  struct LateRelease {
    DataId data;
    StreamPlacement placement;
  };

  /// Frees the data that the task at `position` was the last to use, if that task's end comes after
  /// all uses; puts the rest into `late_`.
  Result<void> release_here(StreamPosition position, DeviceStream stream);
  Result<void> release_late();

  DeviceDriver& driver_;
  StreamQueues& queues_;
  DeviceMemory& memory_;
  DeviceGroups& groups_;
  // Scratch:
  std::vector<DataId> last_used_;
  std::vector<LateRelease> late_;
};

}  // namespace hocket
