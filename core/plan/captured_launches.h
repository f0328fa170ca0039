#pragma once

// Executes launches of a captured step: counts down the predecessors of each task along edges that
// were derived once. The counterpart of DependencyGraph for repeating steps. Not thread-safe.
//
// Invariants:
//  1. at most two launches are live, in the two halves of the slots; a task's slot is that of the
//     step, plus size() in every second launch;
//  2. waiting_for of a task is the number of its unfinished predecessors, plus one until its
//     launch;
//  3. the count of a finished task is reset at once for the launch after next: everything that
//     decrements it comes later, since it waits for this task.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/plan/captured_step.h"
#include "core/step/task.h"

namespace hocket {

/// `Fields` is the user's data for each slot, stored in the slot's cache line.
template <class Fields>
class CapturedLaunches {
 public:
  explicit CapturedLaunches(std::shared_ptr<const CapturedStep> step)
      : step_(std::move(step)), slots_(2 * step_->size()), freed_(slots_.size() + 1) {
    for (std::uint32_t i = 0; i < step_->size(); ++i) {
      // No launch precedes the first one.
      slots_[i].waiting_for = 1 + step_->waits_within(i);
      slots_[step_->size() + i].waiting_for = full_count(i);
    }
  }

  const CapturedStep& step() const { return *step_; }
  /// Returns whether the launch before the last is finished.
  bool may_launch() const { return unfinished_[launches_ % 2] == 0; }
  std::uint32_t launches() const { return launches_; }
  /// Returns the number of unfinished tasks.
  std::size_t live() const { return unfinished_[0] + unfinished_[1]; }

  /// Returns the id of the first slot of the next launch.
  TaskId next_first() const { return {launches_ % 2 * step_->size(), launches_}; }
  TaskId id_of(std::uint32_t slot) const {
    const std::uint32_t half = slot < step_->size() ? 0 : 1;
    return {slot, launches_ - 1 - (launches_ - 1 + half) % 2};
  }
  bool is_live(TaskId task) const {
    return task.slot < slots_.size() && launches_ > 0 && id_of(task.slot) == task;
  }

  Fields& fields(std::uint32_t slot) { return slots_[slot].fields; }
  const Fields& fields(std::uint32_t slot) const { return slots_[slot].fields; }

  /// Submits the step again and calls `on_ready(slot)` for each task that waits for nothing, in
  /// order of submission: tasks that wait for nothing within a launch have the first slots.
  template <class OnReady>
  void launch(OnReady&& on_ready) {
    HOCKET_CHECK(may_launch(), "two launches of a captured step are still under way");
    const std::uint32_t half = launches_++ % 2;
    unfinished_[half] = step_->size();
    const std::uint32_t begin = half * step_->size();
    for (std::uint32_t slot = begin; slot < begin + step_->size(); ++slot)
      if (--slots_[slot].waiting_for == 0) on_ready(slot);
  }

  /// Finishes `tasks` and calls `on_ready(slot)` for each task that becomes ready, in order.
  template <class OnReady>
  void finish(std::span<const TaskId> tasks, OnReady&& on_ready) {
    // Branch-free, since whether a count reaches zero is hard to predict.
    std::size_t freed = 0;
    for (const TaskId task : tasks) {
      HOCKET_CHECK(is_live(task) && slots_[task.slot].waiting_for == 0,
                   "a task was finished twice, or before what it depends on");
      const std::uint32_t step_slot = this->step_slot(task.slot);
      slots_[task.slot].waiting_for = full_count(step_slot);
      --unfinished_[task.slot < step_->size() ? 0 : 1];
      for (const std::uint32_t successor : step_->successors(step_slot)) {
        const std::uint32_t slot = slot_of(successor, task.slot);
        freed_[freed] = slot;
        freed += --slots_[slot].waiting_for == 0;
      }
    }
    for (std::size_t i = 0; i < freed; ++i) on_ready(freed_[i]);
  }

 private:
  struct alignas(16) Slot {
    std::uint32_t waiting_for = 0;
    Fields fields;
  };

  std::uint32_t step_slot(std::uint32_t slot) const {
    return slot < step_->size() ? slot : slot - step_->size();
  }
  /// Returns the slot of a successor (numbered as in CapturedStep) of the task in `slot`. Seen from
  /// the second half, this launch is the second half and the next launch the first.
  std::uint32_t slot_of(std::uint32_t successor, std::uint32_t slot) const {
    const std::uint32_t size = step_->size();
    if (slot < size) return successor;
    return successor < size ? successor + size : successor - size;
  }
  std::uint32_t full_count(std::uint32_t step_slot) const {
    return 1 + step_->waits_within(step_slot) + step_->waits_before(step_slot);
  }

  std::shared_ptr<const CapturedStep> step_;
  std::vector<Slot> slots_;
  // Scratch of finish(): each slot once, and one entry past the end.
  std::vector<std::uint32_t> freed_;
  std::uint32_t unfinished_[2] = {0, 0};
  std::uint32_t launches_ = 0;
};

}  // namespace hocket
