#pragma once

// A task as the 64-bit number that CUPTI ties to calls (external correlation), and back to the
// place that it has in its step. Pure.

#include <cstdint>
#include <span>
#include <unordered_map>

#include "core/step/task.h"
#include "core/trace/rank_trace.h"
#include "core/trace/task_marker.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

struct MarkedTask {
  std::int64_t step = 0;
  std::int64_t task = kNoTask;  ///< kNoTask: a launch of the whole step, or one of unknown number

  bool operator==(const MarkedTask&) const = default;
};

// What does not fit is cut off, so numbers come again: that of a step after so many steps, and
// within a step that of a slot only if it was used as often as no step does.
inline constexpr int kMarkedSlotBits = 24, kMarkedGenerationBits = 20, kMarkedStepBits = 20;
/// How far before the step that it is asked about a mark may be.
inline constexpr std::int64_t kMarkedStepsBefore = 1024;

constexpr std::uint64_t low_bits(std::uint64_t value, int bits) {
  return value & ((std::uint64_t{1} << bits) - 1);
}

/// Slots beyond those that fit are marked as kWholeStep is. `step` is at least 0.
constexpr std::uint64_t pack_task(std::int64_t step, TaskId task) {
  constexpr std::uint64_t none = low_bits(~std::uint64_t{0}, kMarkedSlotBits);
  const bool fits = task.slot < none;
  const std::uint64_t slot = fits ? task.slot : none;
  const std::uint64_t generation = fits ? low_bits(task.generation, kMarkedGenerationBits) : 0;
  return low_bits(static_cast<std::uint64_t>(step), kMarkedStepBits)
             << (kMarkedGenerationBits + kMarkedSlotBits) |
         generation << kMarkedSlotBits | slot;
}

/// The step of a mark, of which it is known to be at least `first_step` − kMarkedStepsBefore, and
/// less than 2^kMarkedStepBits steps after that; kNoStep when that is below 0.
constexpr std::int64_t step_of_mark(std::uint64_t mark, std::int64_t first_step) {
  const std::int64_t least = first_step - kMarkedStepsBefore;
  const std::uint64_t ahead =
      (mark >> (kMarkedGenerationBits + kMarkedSlotBits)) - static_cast<std::uint64_t>(least);
  const std::int64_t step = least + static_cast<std::int64_t>(low_bits(ahead, kMarkedStepBits));
  return step < 0 ? kNoStep : step;
}

/// Which task of its step each one was.
class TaskNumbers {
 public:
  TaskNumbers() = default;
  explicit TaskNumbers(std::span<const NumberedTask> tasks) {
    for (const NumberedTask& task : tasks) by_mark_[pack_task(task.step, task.id)] = task.task;
  }

  MarkedTask of(std::uint64_t mark, std::int64_t first_step) const {
    const auto found = by_mark_.find(mark);
    return {step_of_mark(mark, first_step), found == by_mark_.end() ? kNoTask : found->second};
  }

 private:
  std::unordered_map<std::uint64_t, std::int64_t> by_mark_;
};

}  // namespace hocket
