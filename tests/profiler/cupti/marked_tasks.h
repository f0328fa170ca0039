#pragma once

// Task ids as a scheduler might assign them, the tasks' numbers, and profiles of steps with such
// tasks. One thread.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/step/task.h"
#include "profiler/session/profile_session.h"

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

/// Ends the recording of `device` and returns its profile, as that of a host which begins steps, of
/// `tasks` tasks each, at `starts`. The last of them only ends the one before.
inline ProfileResult profile_of(DeviceRecorder& device, std::vector<StepStart> starts,
                                std::int64_t tasks) {
  device.pause();
  ProfileResult result;
  result.tasks = numbered_tasks(starts.front().step, starts.back().step, tasks);
  result.trace.step_starts = std::move(starts);
  device.add_to(result);
  return result;
}

}  // namespace hocket
