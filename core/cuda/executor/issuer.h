#pragma once

// What the thread of a DeviceExecutor does: takes work from its source, puts it into the device's
// streams, and tells what has run. It neither sleeps nor knows when to.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/executor/device_memory.h"
#include "core/cuda/executor/step_graph.h"
#include "core/cuda/executor/task_issue.h"
#include "core/cuda/streams/device_queues.h"
#include "core/scheduler/executor.h"
#include "core/trace/task_marker.h"

namespace hocket {

/// What an Issuer works with.
struct IssuerParts {
  WorkSource& source;
  DeviceDriver& driver;
  DeviceGroups& groups;
  DeviceMemory& memory;
  const Clock& clock;
  TaskMarker* marker = nullptr;  ///< may be null
  /// Nothing may take longer; > 0.
  std::int64_t limit_ns = 0;
};

class Issuer {
 public:
  Issuer(const IssuerParts& parts, std::unique_ptr<DeviceQueues> queues);

  /// Reports the compute tasks that the last call has put into streams, takes others and puts them
  /// into theirs. False when there were none: the caller owes the source a sleep.
  Result<bool> issue_compute();
  /// The same for one part.
  Result<bool> issue_part();

  /// Tells the source what has run; whether anything has. timed_out after the limit. Not between
  /// the issue of a part and the next issue_part(), which reports it.
  Result<bool> report_completed();

  /// Whether anything is in the streams, as far as is known.
  bool has_work_in_flight() const { return queues_->in_flight() > 0; }

 private:
  static constexpr std::size_t kBatch = 16;

  /// A collective of which the source asks when its inputs have arrived.
  struct Watch {
    TaskId collective;
    std::vector<StreamPosition> inputs;
  };

  Result<void> run_compute(const ComputeWork& work);
  Result<void> run_step(const ComputeWork& work, const DeviceWork& done);
  Result<void> run_part(const PartWork& part);
  void report_inputs();

  const IssuerParts parts_;
  const std::unique_ptr<DeviceQueues> queues_;
  TaskIssue issue_;
  std::unique_ptr<StepGraph> step_graph_;  // once a step has come as a whole
  std::int64_t last_progress_ns_;

  std::array<TaskId, kBatch> issued_;
  std::size_t issued_count_ = 0;
  std::optional<PartWork> issued_part_;
  std::vector<Watch> watches_;

  // Scratch:
  std::vector<CompletedWork> completed_;
};

}  // namespace hocket
