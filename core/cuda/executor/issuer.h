#pragma once

// The work of a DeviceExecutor's thread: takes work from the source, puts it into the device's
// streams and reports what has run. It never sleeps; the executor decides when to call it. One
// thread uses it.
//
// With several ranks, parts are put into their streams by a thread of their own
// (exchange_thread.h), one at a time, while this thread issues tasks. A part counts as issued when
// this thread has seen that it is in its stream. Until then the source hands out nothing that
// conflicts with it, so nothing waits for it.

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
#include "core/cuda/executor/exchange_thread.h"
#include "core/cuda/executor/host_tasks.h"
#include "core/cuda/executor/step_graph.h"
#include "core/cuda/executor/task_issue.h"
#include "core/cuda/streams/device_queues.h"
#include "core/scheduler/executor.h"
#include "core/trace/task_marker.h"

namespace hocket {

/// Everything an Issuer works with; all must outlive it.
struct IssuerParts {
  WorkSource& source;
  DeviceDriver& driver;
  DeviceGroups& groups;
  DeviceMemory& memory;
  const Clock& clock;
  TaskMarker* marker = nullptr;  ///< may be null
  /// Longest time without progress; > 0.
  std::int64_t limit_ns = 0;
};

class Issuer {
 public:
  Issuer(const IssuerParts& parts, std::unique_ptr<DeviceQueues> queues);

  /// Reports the compute tasks that the previous call issued, takes others and issues them. Returns
  /// false when there were none: the caller then owes the source a sleep.
  Result<bool> issue_compute();
  /// Does the same for one task of a lane other than the streams'.
  Result<bool> issue_lane(TaskLane lane);
  /// Does the same for one part. busy: another one is on its way into its stream, so ask again.
  enum class PartTurn { none, issued, busy };
  Result<PartTurn> issue_part();

  /// Reports to the source what has run, and returns whether anything has. Returns timed_out when
  /// nothing has run for the limit. Must not be called between the issue of a part and the next
  /// issue_part(), which reports that part.
  Result<bool> report_completed();

  /// Returns whether a part is on its way into its stream.
  bool has_part_in_hand() const { return part_in_hand_.has_value(); }
  /// Returns whether any work was in the streams at the last look.
  bool has_work_in_flight() const { return queues_->in_flight() > 0; }

 private:
  static constexpr std::size_t kBatch = 16;

  /// A collective whose inputs the source has asked about.
  struct Watch {
    TaskId collective;
    std::vector<StreamPosition> inputs;
  };

  /// A part that the exchange thread has.
  struct PartInHand {
    PartWork part;
    DeviceWork work;
    TaskIssue::BegunPart begun;
  };

  Result<void> run_compute(const ComputeWork& work);
  Result<void> run_step(const ComputeWork& work, DeviceWork done);
  /// Issues `part`, or leaves it to the exchange thread.
  Result<void> run_part(const PartWork& part);
  /// Ends the issue of the part in hand if it is in its stream; returns whether none is in hand.
  Result<bool> end_part_in_hand();
  void report_inputs();

  const IssuerParts parts_;
  const std::unique_ptr<DeviceQueues> queues_;
  TaskIssue issue_;
  HostTasks host_tasks_;
  std::unique_ptr<StepGraph> step_graph_;  // created for the first step that comes as a whole
  std::int64_t last_progress_ns_;

  std::array<TaskId, kBatch> issued_;
  std::size_t issued_count_ = 0;
  std::optional<PartWork> issued_part_;  // not reported yet
  // by TaskLane; not reported yet
  std::array<std::optional<ComputeWork>, kTaskLanes> issued_in_lane_;
  std::optional<PartInHand> part_in_hand_;
  std::vector<Watch> watches_;

  // Scratch:
  std::vector<CompletedWork> completed_;

  // Last, so that it ends first; null with a single rank, whose exchanges do nothing.
  std::unique_ptr<ExchangeThread> exchanges_;
};

}  // namespace hocket
