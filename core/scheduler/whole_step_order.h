#pragma once

// In which order the tasks of a captured step, and the parts of its collectives, are put into the
// queues of a device when the whole step is put there at once: what Plan decides if all before a
// task is in the queues already. The credit window, elsewhere a matter of time, becomes an order: a
// part comes after the end of those whose bytes do not fit beside its own. Pure; the same input
// gives the same sequence, on every rank.

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
  std::uint32_t task = 0;  ///< in the order of submission
  bool is_part = false;
  // Of a part:
  std::uint64_t part = 0;  ///< counts the parts of the step, from 0
  std::int64_t offset_bytes = 0, bytes = 0;
  /// It begins after the end of this part and of all before it; nothing for the first ones.
  std::optional<std::uint64_t> after_part;
};

/// `static_order` is, for PartOrder::announced, the collectives of the step, one entry a part, and
/// must fit the step.
std::vector<StepEntry> sequence_of(const std::shared_ptr<const CapturedStep>& step,
                                   const PlanOptions& options,
                                   std::span<const std::uint32_t> static_order);

/// A captured step to be run as a whole.
struct StepWork {
  /// Another one for another step, or for the same one cut or ordered in another way. With equal
  /// ones the bodies must do the same: an executor may run them a few times, and then repeat on the
  /// device what they put there. Nothing of one is unfinished when the first of another comes.
  std::uint64_t version = 0;
  std::shared_ptr<const CapturedStep> step;
  std::vector<StepEntry> sequence;
  /// By task, in the order of submission; null for collectives.
  std::vector<TaskBody*> bodies;
  /// By StepEntry::part; the task is its place in the order of submission.
  std::vector<PartWork> parts;
};

}  // namespace hocket
