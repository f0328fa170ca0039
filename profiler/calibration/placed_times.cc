#include "profiler/calibration/placed_times.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/statistics.h"

namespace hocket {
namespace {

/// Returns the bytes of the parameters and the optimizer state that a task updates.
double updated_bytes(const StepDescription& step, const StepTask& task) {
  double bytes = 0;
  for (const Access& access : task.accesses) {
    if (access.data.index >= step.data_places.size()) continue;
    const DataPlace& place = step.data_places[access.data.index];
    if (place.layer == task.place.updates_layer) bytes += static_cast<double>(place.bytes);
  }
  return bytes;
}

/// The updates that ran on one side.
class UpdateTimes {
 public:
  UpdateTimes(std::span<const ProfiledStep> steps, const StepDescription& description,
              TaskLane lane)
      : description_(description) {
    std::map<std::size_t, std::vector<double>> durations_ns;  // by task
    // Steps of one placement have the same updates on this side, and their sums are alike.
    std::map<std::vector<std::size_t>, std::vector<double>> sums_ns;
    for (const ProfiledStep& step : steps) {
      std::vector<std::size_t> updates;
      double sum_ns = 0;
      for (std::size_t i = 0; i < step.tasks.size(); ++i) {
        if (description.tasks[i].place.updates_layer == kNoLayer) continue;
        if (step.tasks[i].lane != lane) continue;
        updates.push_back(i);
        const auto ns = static_cast<double>(step.tasks[i].duration_ns);
        durations_ns[i].push_back(ns);
        sum_ns += ns;
      }
      sums_ns[std::move(updates)].push_back(sum_ns);
    }
    for (auto& [task, values] : durations_ns) of_task_[task] = median(std::move(values));
    add_delays(sums_ns);
    for (const auto& [task, ns] : of_task_) {
      ns_ += ns;
      bytes_ += updated_bytes(description, description.tasks[task]);
    }
  }

  /// Returns the time of an update here, from the rate of the others if it ran elsewhere; 0 if
  /// nothing is known.
  double time_of(std::size_t task) const {
    const auto found = of_task_.find(task);
    if (found != of_task_.end()) return found->second;
    return bytes_ > 0 ? ns_ / bytes_ * updated_bytes(description_, description_.tasks[task]) : 0;
  }

 private:
  /// Scales the medians so that they add up to the median step of the placement with the most
  /// updates: a median of each update alone omits what rare delays add.
  void add_delays(const std::map<std::vector<std::size_t>, std::vector<double>>& sums_ns) {
    const auto most = std::ranges::max_element(
        sums_ns, {}, [](const auto& placement) { return placement.first.size(); });
    if (most == sums_ns.end()) return;
    double sum_ns = 0;
    for (const std::size_t task : most->first) sum_ns += of_task_[task];
    if (sum_ns == 0) return;
    const double scale = median(most->second) / sum_ns;
    for (auto& [task, ns] : of_task_) ns *= scale;
  }

  const StepDescription& description_;
  std::map<std::size_t, double> of_task_;
  double ns_ = 0, bytes_ = 0;
};

std::int64_t whole_ns(double ns) {
  return std::max<std::int64_t>(std::llround(ns), 1);
}

}  // namespace

PartCost fit_copy_cost(std::span<const ProfiledCopy> copies, bool is_to_device) {
  std::map<std::int64_t, std::vector<double>> times;
  for (const ProfiledCopy& copy : copies)
    if (copy.is_to_device == is_to_device)
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
  if (bytes > 0 && (times.size() < 2 || start < 0)) return {.beta_ns_per_byte = ns / bytes};
  return {.alpha_ns = ns / count};
}

void set_placed_times(std::span<const ProfiledStep> steps, StepDescription& description) {
  std::vector<ProfiledCopy> copies;
  for (const ProfiledStep& step : steps)
    copies.insert(copies.end(), step.copies.begin(), step.copies.end());
  description.to_device = fit_copy_cost(copies, true);
  description.to_host = fit_copy_cost(copies, false);
  const UpdateTimes on_device(steps, description, TaskLane::stream);
  const UpdateTimes on_host(steps, description, TaskLane::host);
  for (std::size_t i = 0; i < description.tasks.size(); ++i) {
    StepTask& task = description.tasks[i];
    if (task.place.updates_layer == kNoLayer) continue;
    const double device_ns = on_device.time_of(i), host_ns = on_host.time_of(i);
    task.duration_ns = whole_ns(device_ns > 0 ? device_ns : host_ns);
    task.host_duration_ns = whole_ns(host_ns > 0 ? host_ns : device_ns);
  }
}

}  // namespace hocket
