#pragma once

// A program for the tasks of a step to place, in tests: each writes a mixture of all that it reads,
// so that a value in the wrong place or of the wrong time shows.

#include <cstdint>
#include <vector>

#include "core/placement/step_placement.h"

namespace hocket {

using Value = std::uint64_t;
inline constexpr std::int64_t kCellBytes = 256;

inline Value mixed(Value a, Value b) {
  return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd;
}

/// Returns what `task` of step `round` writes into an item, given all values that it reads.
inline Value result_of(std::uint32_t task, int round, std::uint32_t item, Value inputs) {
  return mixed(mixed(inputs, task * 1000 + item), static_cast<Value>(round));
}

/// The host's memory, with a value for each data item of the step.
using Memory = std::vector<Value>;

inline Memory initial(const StepToPlace& step) {
  Memory memory;
  for (std::size_t i = 0; i < step.data.size(); ++i) memory.push_back(mixed(7, i));
  return memory;
}

template <class Load, class Store>
void perform(const StepToPlace& step, std::uint32_t task, int round, const Load& load,
             const Store& store) {
  Value inputs = 1;
  for (const Access& access : step.tasks[task].accesses)
    if (access.mode != AccessMode::write) inputs = mixed(inputs, load(access.data.index));
  for (const Access& access : step.tasks[task].accesses)
    if (access.mode != AccessMode::read)
      store(access.data.index, result_of(task, round, access.data.index, inputs));
}

inline Memory run_in_order(const StepToPlace& step, int rounds) {
  Memory memory = initial(step);
  for (int round = 0; round < rounds; ++round)
    for (std::uint32_t task = 0; task < step.tasks.size(); ++task)
      perform(
          step, task, round, [&](std::uint32_t i) { return memory[i]; },
          [&](std::uint32_t i, Value value) { memory[i] = value; });
  return memory;
}

/// Returns whether the item's value is kept from one step to the next.
inline bool outlives(const StepToPlace& step, std::uint32_t item) {
  if (step.data[item].layer != kNoLayer) return true;
  for (const TaskToPlace& task : step.tasks)
    for (const Access& access : task.accesses)
      if (access.data.index == item) return access.mode != AccessMode::write;
  return true;
}

}  // namespace hocket
