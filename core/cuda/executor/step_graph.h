#pragma once

// Captured steps that are put onto the device as a whole, by a graph: a launch costs the host one
// call, however many tasks the step has. In return a step begins when the one before has ended, and
// of its tasks nothing is known but that all have run.
//
// The first launch of a step puts its tasks into streams one by one, so that what bodies set up
// when they first run is there. The second is captured, and from then on its graph is launched. So
// bodies run twice, and
//  - put the same work into their streams each time. What changes from step to step, such as the
//    number of an update, must be in the device's memory, and be changed there by a task;
//  - must not, when they run again, allocate or wait, nor use events that were recorded elsewhere.
// Another step, or the same one cut or ordered anew (StepWork::version), begins from the first.
// What a graph allocates is beside what the first launch has used, which the driver keeps: twice
// the memory.
//
// Collectives of a captured step must be capturable, as NCCL's are. One thread uses it.

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

/// What a StepGraph works with; all must outlive it.
struct StepGraphParts {
  DeviceDriver& driver;
  DeviceGroups& groups;
  DeviceMemory& memory;
  Lanes lanes;
};

class StepGraph {
 public:
  static Result<std::unique_ptr<StepGraph>> open(const StepGraphParts& parts);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  /// After what is in `stream`, and before what follows there. Of another version than the last:
  /// what was launched has run.
  Result<void> launch(const StepWork& work, DeviceStream stream);

 private:
  explicit StepGraph(const StepGraphParts& parts)
      : parts_(parts), streams_(parts.driver, parts.lanes) {}
  Result<void> capture(const StepWork& work);
  /// Puts the tasks into streams that are forked from `stream`.
  Result<void> put(const StepWork& work, DeviceStream stream);
  void drop_graph();

  const StepGraphParts parts_;
  ForkedStreams streams_;
  DeviceStream capturing_;  // from which the others are forked while a step is captured
  std::optional<std::uint64_t> version_;
  bool has_run_ = false;  // of this version
  std::optional<DeviceGraph> graph_;
};

}  // namespace hocket
