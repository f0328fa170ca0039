#pragma once

// Tasks as a scheduler might have numbered them: what its ids are, and which place each had.

#include <cstdint>
#include <vector>

#include "core/step/task.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

/// Of task `task` of any step.
inline TaskId marked_id(std::int64_t task) {
  return {static_cast<std::uint32_t>(1000 - task), static_cast<std::uint32_t>(3 * task)};
}

/// `tasks` tasks of each of the steps `from` to `to`.
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
