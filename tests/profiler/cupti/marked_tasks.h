#pragma once

// Task ids as a scheduler might assign them, and the tasks' numbers. Pure.

#include <cstdint>
#include <vector>

#include "core/step/task.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

/// Returns the id of task `task` of any step.
inline TaskId marked_id(std::int64_t task) {
  return {static_cast<std::uint32_t>(1000 - task), static_cast<std::uint32_t>(3 * task)};
}

/// Returns `tasks` tasks for each of the steps from `from` to `to`.
inline std::vector<NumberedTask> numbered_tasks(std::int64_t from, std::int64_t to,
                                                std::int64_t tasks) {
  std::vector<NumberedTask> numbered;
  for (std::int64_t step = from; step < to; ++step) {
    for (std::int64_t task = 0; task < tasks; ++task)
      numbered.push_back({marked_id(task), step, task});
  }
  return numbered;
}

}  // namespace hocket
