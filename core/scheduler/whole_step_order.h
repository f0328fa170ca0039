#pragma once

// Order in which the tasks of a captured step and the parts of its collectives enter the queues of
// a device when the whole step is issued at once: the decisions of Plan if everything before a task
// is already in the queues. The credit window becomes an order instead of a matter of time: a part
// follows the end of earlier parts until its bytes fit into the window. Pure; the same input gives
// the same sequence on every rank.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/captured_step.h"
#include "core/plan/plan.h"
#include "core/scheduler/executor.h"
#include "core/step/task_body.h"

namespace hocket {

/// A compute task, or a part of a collective.
struct StepEntry {
  /// Index in order of submission.
  std::uint32_t task = 0;
  bool is_part = false;
  // Only for a part:
  /// Number of the part in the step, from 0.
  std::uint64_t part = 0;
  std::int64_t offset_bytes = 0, bytes = 0;
  /// The part begins after the end of this part and of all parts before it; absent for the first
  /// parts.
  std::optional<std::uint64_t> after_part;
};

/// Computes the sequence. For PartOrder::announced, `static_order` lists the collectives of the
/// step, one entry per part, and must fit the step.
std::vector<StepEntry> sequence_of(const std::shared_ptr<const CapturedStep>& step,
                                   const PlanOptions& options,
                                   std::span<const std::uint32_t> static_order);

/// A captured step to run as a whole.
struct StepWork {
  /// Changes with the step, and with the partition or order of the same step. With an equal version
  /// the bodies must do the same: an executor may run them a few times and then repeat on the
  /// device the work that they issued. All work of one version is finished before the first step of
  /// another version arrives.
  std::uint64_t version = 0;
  std::shared_ptr<const CapturedStep> step;
  std::vector<StepEntry> sequence;
  /// Bodies by task, in order of submission; null for collectives.
  std::vector<TaskBody*> bodies;
  /// Parts by StepEntry::part; the slot of a part's task is its index in order of submission.
  std::vector<PartWork> parts;
};

}  // namespace hocket
