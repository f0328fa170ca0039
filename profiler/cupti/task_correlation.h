#pragma once

// Encodes a task as the 64-bit number that CUPTI ties to calls (external correlation), and finds
// the task's number in its step from it. Pure.

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
  /// kNoTask: a launch of the whole step, or a task of unknown number
  std::int64_t task = kNoTask;

  bool operator==(const MarkedTask&) const = default;
};

// High bits that do not fit are cut off, so numbers repeat: those of steps after 2^kMarkedStepBits
// steps, and those of slots only if a step reuses one more often than any step does.
inline constexpr int kMarkedSlotBits = 24, kMarkedGenerationBits = 20, kMarkedStepBits = 20;
/// Largest distance of a mark's step before the step of the query.
inline constexpr std::int64_t kMarkedStepsBefore = 1024;

constexpr std::uint64_t low_bits(std::uint64_t value, int bits) {
  return value & ((std::uint64_t{1} << bits) - 1);
}

/// Packs a task. Slots that do not fit are marked as kWholeStep is. Requires `step` ≥ 0.
constexpr std::uint64_t pack_task(std::int64_t step, TaskId task) {
  constexpr std::uint64_t none = low_bits(~std::uint64_t{0}, kMarkedSlotBits);
  const bool fits = task.slot < none;
  const std::uint64_t slot = fits ? task.slot : none;
  const std::uint64_t generation = fits ? low_bits(task.generation, kMarkedGenerationBits) : 0;
  return low_bits(static_cast<std::uint64_t>(step), kMarkedStepBits)
             << (kMarkedGenerationBits + kMarkedSlotBits) |
         generation << kMarkedSlotBits | slot;
}

/// Returns the step of a mark; kNoStep if it is below 0. Requires the step to be at least
/// `first_step` − kMarkedStepsBefore, and less than 2^kMarkedStepBits steps after that.
constexpr std::int64_t step_of_mark(std::uint64_t mark, std::int64_t first_step) {
  const std::int64_t least = first_step - kMarkedStepsBefore;
  const std::uint64_t ahead =
      (mark >> (kMarkedGenerationBits + kMarkedSlotBits)) - static_cast<std::uint64_t>(least);
  const std::int64_t step = least + static_cast<std::int64_t>(low_bits(ahead, kMarkedStepBits));
  return step < 0 ? kNoStep : step;
}

/// Maps marks to the number of the task in its step.
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
