#include "examples/gpt2/job/offload_profile.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/base/check.h"
#include "core/base/statistics.h"

namespace hocket {
namespace {

constexpr bool copies(TaskLane lane) {
  return lane == TaskLane::to_device || lane == TaskLane::to_host;
}

/// Updates of one side: their times where they ran there, and the rate of all.
struct UpdateTimes {
  std::map<std::size_t, double> of_task;
  double ns = 0, bytes = 0;

  void add(std::size_t task, double duration_ns, double task_bytes) {
    of_task[task] = duration_ns;
    ns += duration_ns;
    bytes += task_bytes;
  }
  /// Returns 0 if nothing is known.
  double time_of(std::size_t task, double task_bytes) const {
    const auto found = of_task.find(task);
    if (found != of_task.end()) return found->second;
    return bytes > 0 ? ns / bytes * task_bytes : 0;
  }
};

/// Returns the bytes of the parameters and the optimizer state that a task updates.
double updated_bytes(const StepDescription& step, const StepTask& task) {
  double bytes = 0;
  for (const Access& access : task.accesses) {
    const DataPlace& place = step.data_places[access.data.index];
    if (place.layer == task.place.updates_layer) bytes += static_cast<double>(place.bytes);
  }
  return bytes;
}

std::int64_t rounded(double ns) {
  return std::max<std::int64_t>(std::llround(ns), 1);
}

}  // namespace

void OffloadProfile::submitted(const SubmittedTask& task) {
  if (!copies(task.lane)) tasks_.submitted(task);
}

void OffloadProfile::record(const TraceEvent& event) {
  if (event.kind != TraceKind::copy) return tasks_.record(event);
  if (event.step == 0) return;
  const std::lock_guard lock(mutex_);
  // The copies' lanes are 0 to the device and 1 to the host.
  copies_.push_back({.to_device = event.lane == 0,
                     .bytes = event.bytes,
                     .duration_ns = event.end_ns - event.begin_ns});
}

void OffloadProfile::take(OffloadedSteps& profiled) const {
  std::ranges::move(tasks_.steps(1), std::back_inserter(profiled.steps));
  const std::lock_guard lock(mutex_);
  profiled.copies.insert(profiled.copies.end(), copies_.begin(), copies_.end());
}

PartCost fit_copy_cost(std::span<const CopyTime> copies, bool to_device) {
  std::map<std::int64_t, std::vector<double>> times;
  for (const CopyTime& copy : copies)
    if (copy.to_device == to_device)
      times[copy.bytes].push_back(static_cast<double>(copy.duration_ns));
  double count = 0, bytes = 0, ns = 0, bytes_squared = 0, product = 0;
  for (const auto& [size, of_size] : times) {
    const auto weight = static_cast<double>(of_size.size()), x = static_cast<double>(size);
    const double y = median(of_size);
    count += weight;
    bytes += weight * x;
    ns += weight * y;
    bytes_squared += weight * x * x;
    product += weight * x * y;
  }
  if (count == 0) return {};
  const double spread = count * bytes_squared - bytes * bytes;
  const double slope = times.size() < 2 ? -1 : (count * product - bytes * ns) / spread;
  const double start = (ns - slope * bytes) / count;
  if (slope >= 0 && start >= 0) return {.alpha_ns = start, .beta_ns_per_byte = slope};
  // No line through them makes sense: all of the cost is of the bytes, or none of it.
  if (times.size() < 2 || start < 0) return {.beta_ns_per_byte = ns / bytes};
  return {.alpha_ns = ns / count};
}

Result<StepDescription> with_update_times(StepDescription step,
                                          std::span<const OffloadedSteps> profiled) {
  UpdateTimes on_device, on_host;
  for (const OffloadedSteps& each : profiled) {
    const auto measured = describe_step(each.steps);
    HOCKET_TRY(measured);
    HOCKET_CHECK(measured->tasks.size() == step.tasks.size(), "profiles of one step");
    for (std::size_t i = 0; i < step.tasks.size(); ++i) {
      const StepTask& task = step.tasks[i];
      if (task.place.updates_layer == kNoLayer) continue;
      UpdateTimes& side = task.place.updates_layer < each.offload_k ? on_device : on_host;
      side.add(i, static_cast<double>(measured->tasks[i].duration_ns), updated_bytes(step, task));
    }
  }
  for (std::size_t i = 0; i < step.tasks.size(); ++i) {
    StepTask& task = step.tasks[i];
    if (task.place.updates_layer == kNoLayer) continue;
    const double bytes = updated_bytes(step, task);
    const double device_ns = on_device.time_of(i, bytes), host_ns = on_host.time_of(i, bytes);
    task.duration_ns = rounded(device_ns > 0 ? device_ns : host_ns);
    task.host_duration_ns = rounded(host_ns > 0 ? host_ns : device_ns);
  }
  return step;
}

}  // namespace hocket
