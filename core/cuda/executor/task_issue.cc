#include "core/cuda/executor/task_issue.h"

#include <exception>
#include <string>

namespace hocket {
namespace {

Result<void> run_body(TaskBody& body, const DeviceTask& task) {
  const RunningDeviceTask running(task);
  try {
    body();
  } catch (const std::exception& e) {
    return failure(ErrorCode::unavailable, std::string("it threw: ") + e.what());
  }
  return {};
}

}  // namespace

Result<StreamPosition> TaskIssue::compute(std::span<const Access> accesses, TaskBody& body,
                                          DeviceWork* work) {
  const StreamPlacement& placement = queues_.mapping().place_compute(accesses);
  const StreamPosition position = placement.position;
  if (work) work->traced.lane = static_cast<std::int32_t>(position.stream);
  const auto stream = queues_.begin(placement, work);
  HOCKET_TRY(stream);
  Result<void> ok = memory_.begin_task(accesses, *stream);
  if (ok) ok = run_body(body, {.stream = *stream, .lane = position.stream, .memory = &memory_});
  HOCKET_TRY(ok);
  if (auto launched = driver_.take_launch_error(); !launched)
    return failure(launched.error().in("launching its work"));
  memory_.end_task(accesses, last_used_);
  ok = release_here(position, *stream);
  if (ok) ok = queues_.end(position, work);
  if (ok) ok = release_late();
  HOCKET_TRY(ok);
  return position;
}

Result<void> TaskIssue::in_lane(TaskLane lane, const ComputeWork& task, HostTasks& host_tasks,
                                DeviceWork& work) {
  const StreamPlacement& placement = queues_.mapping().place_in_lane(lane, task.accesses);
  const StreamPosition position = placement.position;
  const auto stream = queues_.begin(placement, &work);
  HOCKET_TRY(stream);
  HOCKET_TRY(
      lane == TaskLane::host
          ? host_tasks.put(task, *stream)
          : run_body(*task.body, {.stream = *stream, .lane = position.stream, .memory = &memory_}));
  if (auto launched = driver_.take_launch_error(); !launched)
    return failure(launched.error().in("putting it into its stream"));
  return queues_.end(position, &work);
}

Result<StreamPosition> TaskIssue::part(const PartWork& part, DeviceWork* work,
                                       std::span<const StreamPosition> also_after) {
  const auto begun = begin_part(part, work, also_after);
  HOCKET_TRY(begun);
  const auto ok = groups_.exchange(part, begun->channel, begun->stream);
  static_cast<void>(driver_.take_launch_error());
  HOCKET_TRY(ok);
  HOCKET_TRY(end_part(*begun, work));
  return begun->position;
}

Result<TaskIssue::BegunPart> TaskIssue::begin_part(const PartWork& part, DeviceWork* work,
                                                   std::span<const StreamPosition> also_after) {
  for (const Access& access : part.accesses) {
    if (memory_.has(access.data))
      return invalid("data " + std::to_string(access.data.index) +
                     " lives within the step; a collective needs memory that stays");
  }
  StreamMapping& mapping = queues_.mapping();
  const StreamPlacement& placement =
      mapping.place_part(part.task, part.accesses, groups_.channel_number(part), also_after);
  const StreamPosition position = placement.position;
  const auto channel = static_cast<int>(position.stream - mapping.compute_streams());
  if (work) work->traced.lane = channel;
  const auto stream = queues_.begin(placement, work);
  HOCKET_TRY(stream);
  return BegunPart{position, *stream, channel};
}

Result<void> TaskIssue::end_part(const BegunPart& begun, const DeviceWork* work) {
  return queues_.end(begun.position, work);
}

Result<void> TaskIssue::release_here(StreamPosition position, DeviceStream stream) {
  late_.clear();
  for (const DataId data : last_used_) {
    const StreamPlacement& release = queues_.mapping().place_release(data, position);
    if (release.position != position) {
      late_.push_back({data, release});
    } else if (auto ok = memory_.free(data, stream); !ok) {
      return ok;
    }
  }
  return {};
}

Result<void> TaskIssue::release_late() {
  for (const auto& [data, placement] : late_) {
    const auto stream = queues_.begin(placement, nullptr);
    HOCKET_TRY(stream);
    if (auto ok = memory_.free(data, *stream); !ok) return ok;
    if (auto ok = queues_.end(placement.position, nullptr); !ok) return ok;
  }
  return {};
}

}  // namespace hocket
