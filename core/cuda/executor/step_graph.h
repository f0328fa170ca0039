#pragma once

// Puts captured steps onto the device as a whole, as a graph: a launch costs the host one call,
// however many tasks the step has. In return, a step begins only when the one before has ended, and
// no task's completion is known before that of the step.
//
// The first launch of a step puts its tasks into streams one by one, so that everything bodies set
// up when they first run exists. The second launch is captured; from then on its graph is launched.
// So bodies run twice, and they
//  - must put the same work into their streams each time. State that changes from step to step,
//    such as the number of an update, must be in device memory and be changed there by a task;
//  - must not, when they run again, allocate or wait, nor use events that were recorded elsewhere.
//
// Another step, or the same one cut or ordered differently (StepWork::version), starts with a first
// launch again. A graph allocates memory in addition to what the first launch has used, which the
// driver keeps: twice the memory.
//
// Collectives of a captured step must support capture, as NCCL's do. One thread uses it.

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/executor/device_memory.h"
#include "core/cuda/streams/forked_streams.h"
#include "core/scheduler/executor.h"
#include "core/scheduler/whole_step_order.h"

namespace hocket {

/// Everything a StepGraph works with; all must outlive it.
struct StepGraphParts {
  DeviceDriver& driver;
  DeviceGroups& groups;
  DeviceMemory& memory;
  LaneCounts lanes;
};

class StepGraph {
 public:
  static Result<std::unique_ptr<StepGraph>> open(const StepGraphParts& parts);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// Launches a step in `stream`, after the work that is in it and before the work that follows.
  /// When the version differs from the last launch's, that launch must have run.
  Result<void> launch(const StepWork& work, DeviceStream stream);

 private:
  explicit StepGraph(const StepGraphParts& parts)
      : parts_(parts), streams_(parts.driver, parts.lanes) {}
  Result<void> capture(const StepWork& work);
  /// Puts the tasks into streams forked from `stream`.
  Result<void> put(const StepWork& work, DeviceStream stream);
  void drop_graph();

  const StepGraphParts parts_;
  ForkedStreams streams_;
  DeviceStream capturing_;  // the origin of the fork while a step is captured
  std::optional<std::uint64_t> version_;
  bool has_run_ = false;  // true once this version has been launched
  std::optional<DeviceGraph> graph_;
};

}  // namespace hocket
