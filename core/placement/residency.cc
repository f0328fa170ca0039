#include "core/placement/residency.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace hocket::placement {
namespace {

struct Use {
  std::uint32_t task = 0, access = 0;
};

class Finder {
 public:
  Finder(const StepToPlace& step, const PlacementOptions& options)
      : step_(step), options_(options), uses_(step.data.size()) {}

  Result<Residencies> find() {
    for (const TaskToPlace& task : step_.tasks) {
      found_.site.push_back(task.updates_layer >= options_.offload_k ? PlacementSite::host
                                                                     : PlacementSite::device);
      found_.used.emplace_back(task.accesses.size(), kNoResidency);
    }
    found_.evicted_before.resize(step_.tasks.size() + 1);
    for (std::uint32_t task = 0; task < step_.tasks.size(); ++task)
      for (std::uint32_t i = 0; i < step_.tasks[task].accesses.size(); ++i)
        uses_[step_.tasks[task].accesses[i].data.index].push_back({task, i});
    for (std::uint32_t data = 0; data < step_.data.size(); ++data)
      found_.home.push_back(home_of(data));
    find_stages();
    for (std::uint32_t data = 0; data < step_.data.size(); ++data)
      if (step_.data[data].bytes > 0) HOCKET_TRY(follow(data));
    return std::move(found_);
  }

 private:
  AccessMode mode_of(const Use& use) const {
    return step_.tasks[use.task].accesses[use.access].mode;
  }
  bool is_on_host(const Use& use) const { return found_.site[use.task] == PlacementSite::host; }

  bool outlives_step(std::uint32_t data) const {
    if (step_.data[data].layer != kNoLayer) return true;
    return !step_.data[data].is_transient && !uses_[data].empty() &&
           mode_of(uses_[data].front()) != AccessMode::write;
  }

  PlacementSite home_of(std::uint32_t data) const {
    if (const std::int64_t layer = step_.data[data].layer; layer != kNoLayer)
      return layer < options_.offload_k ? PlacementSite::device : PlacementSite::host;
    const bool is_hosts =
        std::ranges::all_of(uses_[data], [&](Use use) { return is_on_host(use); });
    return is_hosts ? PlacementSite::host : PlacementSite::device;
  }

  void find_stages() {
    std::int64_t layer = kNoLayer;
    std::uint32_t stage = 0;
    for (std::uint32_t task = 0; task < step_.tasks.size(); ++task) {
      if (found_.site[task] == PlacementSite::device) {
        // The highest of several layers counts, so that the order of accesses decides nothing.
        std::int64_t next = kNoLayer;
        for (const Access& access : step_.tasks[task].accesses) {
          const DataToPlace& data = step_.data[access.data.index];
          if (data.layer >= options_.offload_k && data.bytes > 0 && data.layer != layer)
            next = std::max(next, data.layer);
        }
        if (next != kNoLayer && std::exchange(layer, next) != kNoLayer) ++stage;
      }
      found_.stage.push_back(stage);
    }
    for (std::uint32_t task = 0; task < found_.stage.size(); ++task)
      if (found_.stage[task] == first_of_stage_.size()) first_of_stage_.push_back(task);
  }

  /// Finds the residencies of one data item.
  Result<void> follow(std::uint32_t data) {
    const bool is_permanent = outlives_step(data) && found_.home[data] == PlacementSite::device;
    const bool is_refetchable = outlives_step(data) && !is_permanent;
    std::uint32_t open = kNoResidency;
    bool is_on_device = is_permanent, is_on_host_too = is_refetchable;
    const auto is_open = [&] { return open != kNoResidency; };
    std::uint32_t not_before = 0;  // the first task after the last one that a fetch must follow
    if (is_permanent && !step_.tasks.empty()) {
      open = add({.data = data,
                  .last = static_cast<std::uint32_t>(step_.tasks.size()) - 1,
                  .is_permanent = true});
    }
    std::uint32_t used_until = 0;  // the first task after the last use on the device
    const auto evict = [&] {
      found_.evicted_before[used_until].push_back(open);
      found_.all[open].is_evicted = true;
      is_on_host_too = true;
    };
    for (const Use& use : uses_[data]) {
      const bool reads = mode_of(use) != AccessMode::write;
      const bool writes = mode_of(use) != AccessMode::read;
      if (is_on_host(use)) {
        if (writes && is_permanent) return failure(written_on_host(use.task, data));
        if (reads && !is_on_host_too && is_open()) evict();
        if (!writes) continue;
        is_on_host_too = true;
        is_on_device = false;
        open = kNoResidency;
        not_before = use.task + 1;
        continue;
      }
      if (is_open() && is_refetchable && is_far(found_.all[open].last, use.task)) {
        if (!is_on_host_too) evict();
        not_before = found_.all[open].last + 1;
        open = kNoResidency;
      }
      if (!is_open()) {
        // An item that has no value yet is not fetched, even if this task reads it.
        const bool fetches = reads && (is_on_device || is_on_host_too);
        open = add({.data = data,
                    .first = use.task,
                    .last = use.task,
                    .earliest = fetches ? std::max(not_before, earliest(use.task)) : use.task,
                    .is_fetched = fetches});
      }
      HOCKET_CHECK(!reads || is_on_device || found_.all[open].first == use.task,
                   "the device reads what it does not have");
      is_on_device = true;
      if (writes) is_on_host_too = false;
      if (!is_permanent) found_.all[open].last = use.task;
      used_until = use.task + 1;
      found_.used[use.task][use.access] = open;
    }
    if (is_open() && is_refetchable && !is_on_host_too) evict();
    return {};
  }

  std::uint32_t add(Residency residency) {
    found_.all.push_back(residency);
    return static_cast<std::uint32_t>(found_.all.size()) - 1;
  }

  /// Returns whether data are released between two tasks that use them.
  bool is_far(std::uint32_t from, std::uint32_t to) const {
    return found_.stage[to] - found_.stage[from] >
           std::max<std::int64_t>(options_.prefetch_layers, 1);
  }
  std::uint32_t earliest(std::uint32_t task) const {
    const std::int64_t stage = found_.stage[task] - options_.prefetch_layers;
    return stage <= 0 ? 0 : first_of_stage_[static_cast<std::size_t>(stage)];
  }

  Error written_on_host(std::uint32_t task, std::uint32_t data) const {
    return {ErrorCode::invalid_argument,
            "task \"" + step_.tasks[task].name + "\" runs on the host, which updates layer " +
                std::to_string(step_.tasks[task].updates_layer) + ", but writes \"" +
                step_.data[data].name + "\", which stays on the device; give that data the layer"};
  }

  const StepToPlace& step_;
  const PlacementOptions& options_;
  std::vector<std::vector<Use>> uses_;  // by data item
  std::vector<std::uint32_t> first_of_stage_;
  Residencies found_;
};

}  // namespace

Result<Residencies> find_residencies(const StepToPlace& step, const PlacementOptions& options) {
  return Finder(step, options).find();
}

}  // namespace hocket::placement
