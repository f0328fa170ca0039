#pragma once

// Tasks on their way from the job to the plan, and what the plan keeps for them until they have
// run. Private to this folder.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/collective/collective.h"
#include "core/collective/collective_blocks.h"
#include "core/collective/optimizer_step.h"
#include "core/plan/plan.h"
#include "core/scheduler/executor.h"
#include "core/step/task.h"
#include "core/step/task_body.h"
#include "core/step/task_communication.h"

namespace hocket {

/// A collective other than an all-reduce of one span over all ranks.
struct SpecialCollective {
  /// All of it, or with `end` > 0 one part that is not divided further.
  CollectiveWork work = {};
  /// Parts are ranges of every rank's block, or of what each member sends to each, instead of
  /// ranges of the values.
  bool is_scattered = false;
  /// Number of these blocks, if it is not that of all ranks.
  int blocks = 0;
  /// Bytes that are divided into parts, if they are not those of the values.
  std::int64_t divided_bytes = 0;
  /// If not empty, the values, all of one type, one span after the other; work.values is empty.
  std::vector<ValueSpan> bucket = {};

  bool is_plain() const {
    return work.kind == CollectiveKind::all_reduce && work.group == CollectiveGroup::world &&
           !is_scattered && bucket.empty();
  }
  /// Returns whether it is one that only steps have which run as they are submitted: of the ranks
  /// that differ in some axes alone, or without blocks.
  bool is_of_some() const { return has_no_blocks(work.kind) || !work.group.axes.is_all(); }
};

/// Returns what recordings of the plan say of a collective; null is an all-reduce of all ranks.
inline TaskCommunication communication_of(const SpecialCollective* special) {
  if (special == nullptr) return {};
  const CollectiveWork& work = special->work;
  return {.kind = work.kind,
          .group = work.group,
          .peer = is_message(work.kind) ? static_cast<std::int32_t>(work.peer) : 0};
}

/// A task on its way to the plan.
struct TaskSubmission {
  TaskOptions options;
  bool is_collective = false;
  /// Number of the task's accesses, which are passed beside it.
  std::uint32_t accesses = 0;
  /// Values of a collective that are summed over all ranks; unused if `special` is not null.
  ValueSpan values = {};
  /// Size of the collective or copy; 0 for other tasks.
  std::int64_t bytes = 0;
  std::unique_ptr<const SpecialCollective> special = {};
  /// Servers make this step of the sum; null: they only sum.
  const OptimizerStep* optimizer = nullptr;
  TaskBody body = {};
  /// Called by `body`, if the computation can be divided.
  std::shared_ptr<const PieceBody> pieces = {};

  CollectiveKind kind() const { return special ? special->work.kind : CollectiveKind::all_reduce; }
};

/// Takes the tasks of a step in the order of submission.
class TaskSink {
 public:
  virtual ~TaskSink() = default;

  virtual void submit(TaskSubmission&& submission, std::span<const Access> accesses) = 0;
};

/// The data of a task that the plan does not need.
struct alignas(64) TaskPayload {
  /// In a cache line of its own: the streams use the body, the lock's holder all else.
  TaskBody body = {};
  std::string_view name = {};
  /// Step of a task that was submitted by itself.
  std::int64_t step = 0;
  /// Bytes of a copy; 0 for other tasks.
  std::int64_t bytes = 0;
  /// Values of a collective that are summed over all ranks; unused if `special` is not null.
  ValueSpan values = {};
  /// Accesses of a task that was submitted by itself, for executors that issue ahead.
  std::vector<Access> accesses = {};
  std::unique_ptr<const SpecialCollective> special = {};
  /// Servers make this step of the sum; null: they only sum.
  const OptimizerStep* optimizer = nullptr;
};

/// Returns the part that `decision` starts of the collective in `payload`, on one of `ranks` ranks;
/// without index, step and accesses.
PartWork part_of(const TaskPayload& payload, const PartDecision& decision, int ranks);

}  // namespace hocket
