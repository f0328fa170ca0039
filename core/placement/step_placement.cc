#include "core/placement/step_placement.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/placement/address_ranges.h"
#include "core/placement/residency.h"

namespace hocket {
namespace {

using placement::aligned;
using placement::Residency;

/// Device memory of everything that a task needs at once.
struct Need {
  std::uint32_t task = 0;
  std::int64_t bytes = 0;
  const Residency* largest = nullptr;
};

Need need_of(std::uint32_t task, const StepToPlace& step,
             const placement::Residencies& residencies) {
  Need need{.task = task};
  for (const Residency& each : residencies.all) {
    if (each.first > task || each.last < task) continue;
    need.bytes += aligned(step.data[each.data].bytes);
    if (!need.largest || step.data[each.data].bytes > step.data[need.largest->data].bytes)
      need.largest = &each;
  }
  return need;
}

/// Returns the error of a step that cannot fit, if it cannot: of the task that needs the most.
Result<void> check_need(const StepToPlace& step, const placement::Residencies& residencies,
                        std::int64_t limit_bytes) {
  Need most;
  for (std::uint32_t task = 0; task < step.tasks.size(); ++task) {
    if (residencies.site[task] == PlacementSite::host) continue;
    const Need need = need_of(task, step, residencies);
    if (need.bytes > most.bytes) most = need;
  }
  if (most.bytes <= limit_bytes) return {};
  const DataToPlace& data = step.data[most.largest->data];
  return failure(ErrorCode::invalid_argument,
                 "task \"" + step.tasks[most.task].name + "\" needs " + std::to_string(most.bytes) +
                     " B on the device at once (the largest item is \"" + data.name + "\"" +
                     (data.layer == kNoLayer ? "" : " of layer " + std::to_string(data.layer)) +
                     ", " + std::to_string(data.bytes) + " B), but device_memory_bytes is " +
                     std::to_string(limit_bytes) +
                     "; raise it, lower offload_k, or use smaller micro-batches");
}

class Placing {
 public:
  Placing(const StepToPlace& step, const PlacementOptions& options,
          placement::Residencies residencies, placement::AddressRanges ranges)
      : step_(step), options_(options), residencies_(std::move(residencies)) {
    placed_.address_bytes = std::move(ranges.address_bytes);
    placed_.peak_bytes = ranges.peak_bytes;
    const auto data = static_cast<std::uint32_t>(step.data.size());
    first_residency_ = data;
    first_stage_ = data + static_cast<std::uint32_t>(residencies_.all.size());
    placed_.data = first_stage_ + (step.tasks.empty() ? 0 : residencies_.stage.back() + 1);
  }

  PlacedStep place() {
    const auto tasks = static_cast<std::uint32_t>(step_.tasks.size());
    std::vector<std::vector<std::uint32_t>> fetched_before(tasks);
    for (std::uint32_t i = 0; i < residencies_.all.size(); ++i)
      if (residencies_.all[i].is_fetched) fetched_before[position_of(i)].push_back(i);
    find_ends_of_stages();
    for (std::uint32_t task = 0; task <= tasks; ++task) {
      for (const std::uint32_t i : residencies_.evicted_before[task]) evict(i);
      if (task == tasks) break;
      // Fetches are submitted in the order in which tasks need them.
      std::ranges::stable_sort(fetched_before[task], {},
                               [&](std::uint32_t i) { return residencies_.all[i].first; });
      for (const std::uint32_t i : fetched_before[task]) fetch(i);
      add_task(task);
    }
    placed_.home = residencies_.home;
    return std::move(placed_);
  }

 private:
  DataId of_data(std::uint32_t data) const { return {data}; }
  DataId of_residency(std::uint32_t i) const { return {first_residency_ + i}; }
  DataId of_stage(std::uint32_t stage) const { return {first_stage_ + stage}; }

  bool shares_memory(std::uint32_t a, std::uint32_t b) const {
    const auto range = [&](std::uint32_t i) {
      const std::uint32_t data = residencies_.all[i].data;
      const std::int64_t begin = placed_.address_bytes[data];
      return std::pair(begin, begin + aligned(step_.data[data].bytes));
    };
    return a != b && range(a).first < range(b).second && range(b).first < range(a).second;
  }

  /// Returns the task before which a residency is fetched: the earliest at which those that have
  /// its memory before it have ended.
  std::uint32_t position_of(std::uint32_t i) const {
    std::uint32_t position = residencies_.all[i].earliest;
    for (std::uint32_t other = 0; other < residencies_.all.size(); ++other) {
      const Residency& before = residencies_.all[other];
      if (before.last < residencies_.all[i].first && shares_memory(i, other))
        position = std::max(position, before.last + 1);
    }
    return position;
  }

  void find_ends_of_stages() {
    end_of_stage_.assign(step_.tasks.empty() ? 0 : residencies_.stage.back() + 1, 0);
    for (std::uint32_t task = 0; task < step_.tasks.size(); ++task)
      if (residencies_.site[task] == PlacementSite::device)
        end_of_stage_[residencies_.stage[task]] = task;
  }

  /// Appends the accesses of what begins residency `i`: it waits for all that have its memory, in
  /// this step and the one before.
  void take_memory(std::uint32_t i, std::vector<Access>& accesses) const {
    for (std::uint32_t other = 0; other < residencies_.all.size(); ++other)
      if (shares_memory(i, other) && std::ranges::none_of(accesses, [&](Access each) {
            return each.data == of_residency(other);
          }))
        accesses.push_back(write(of_residency(other)));
  }

  void fetch(std::uint32_t i) {
    const Residency& residency = residencies_.all[i];
    std::vector<Access> accesses{read(of_data(residency.data)), write(of_residency(i))};
    take_memory(i, accesses);
    const std::int64_t after = residencies_.stage[residency.first] - options_.prefetch_layers - 1;
    if (after >= 0) accesses.push_back(read(of_stage(static_cast<std::uint32_t>(after))));
    placed_.tasks.push_back(
        {PlacedKind::fetch, PlacementSite::device, residency.data, std::move(accesses)});
  }

  void evict(std::uint32_t i) {
    const std::uint32_t data = residencies_.all[i].data;
    placed_.tasks.push_back({PlacedKind::evict,
                             PlacementSite::device,
                             data,
                             {read(of_residency(i)), write(of_data(data))}});
  }

  void add_task(std::uint32_t task) {
    const PlacementSite site = residencies_.site[task];
    std::vector<Access> accesses;
    for (std::size_t k = 0; k < step_.tasks[task].accesses.size(); ++k) {
      const Access& access = step_.tasks[task].accesses[k];
      const std::uint32_t i = residencies_.used[task][k];
      if (i == placement::kNoResidency) {
        accesses.push_back(access);
        continue;
      }
      const Residency& residency = residencies_.all[i];
      const bool begins_here =
          residency.first == task && !residency.is_fetched && !residency.is_permanent;
      // Others that only read transient data wait for the task that takes their memory.
      const bool only_reads = access.mode == AccessMode::read;
      accesses.push_back(
          {of_residency(i), begins_here && only_reads ? AccessMode::update : access.mode});
      if (begins_here) take_memory(i, accesses);
    }
    if (site == PlacementSite::device && end_of_stage_[residencies_.stage[task]] == task)
      accesses.push_back(write(of_stage(residencies_.stage[task])));
    placed_.tasks.push_back({PlacedKind::task, site, task, std::move(accesses)});
  }

  const StepToPlace& step_;
  const PlacementOptions& options_;
  const placement::Residencies residencies_;
  std::uint32_t first_residency_ = 0, first_stage_ = 0;
  std::vector<std::uint32_t> end_of_stage_;
  PlacedStep placed_;
};

}  // namespace

Result<PlacedStep> place_step(const StepToPlace& step, const PlacementOptions& options) {
  HOCKET_CHECK(
      options.device_memory_bytes > 0 && options.offload_k >= 0 && options.prefetch_layers >= 0,
      "validate the configuration first");
  auto residencies = placement::find_residencies(step, options);
  HOCKET_TRY(residencies);
  HOCKET_TRY(check_need(step, *residencies, options.device_memory_bytes));
  auto ranges = placement::find_ranges(step.data, residencies->all, options.device_memory_bytes);
  if (!ranges) {
    ranges = placement::find_ranges(step.data, residencies->all,
                                    std::numeric_limits<std::int64_t>::max() / 4);
    return failure(ErrorCode::invalid_argument,
                   "the step's data do not fit into device_memory_bytes " +
                       std::to_string(options.device_memory_bytes) +
                       " without gaps between them; from " + std::to_string(ranges->peak_bytes) +
                       " on they do");
  }
  return Placing(step, options, std::move(*residencies), std::move(*ranges)).place();
}

}  // namespace hocket
