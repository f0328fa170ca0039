#include "core/partitioning/bucket_fusion.h"

#include <algorithm>
#include <utility>

namespace hocket::partitioning {
namespace {

/// The bucket that may still grow, and the data accessed by its members and by tasks that wait for
/// them.
class OpenBucket {
 public:
  explicit OpenBucket(std::size_t data) : accessed_(data) {}

  bool is_open() const { return bytes_ >= 0; }
  void close() {
    bytes_ = -1;
    ++number_;
  }

  bool takes(const StepTask& task, std::uint32_t rule, std::int64_t bucket_bytes) const {
    return is_open() && rule == rule_ && task.group == group_ &&
           bytes_ + task.bytes <= bucket_bytes;
  }
  void add(const StepTask& task, std::uint32_t rule) {
    bytes_ = std::max<std::int64_t>(bytes_, 0) + task.bytes;
    rule_ = rule;
    group_ = task.group;
    access(task);
  }
  /// Records that `task` comes after the bucket; tasks that conflict with it then do too.
  void access(const StepTask& task) {
    for (const Access& access : task.accesses) {
      Accessed& data = accessed_[access.data.index];
      const bool changed = data.number == number_ && data.changed;
      data = {number_, changed || access.mode != AccessMode::read};
    }
  }
  bool conflicts(const StepTask& task) const {
    return is_open() &&
           std::any_of(task.accesses.begin(), task.accesses.end(), [&](const Access& access) {
             const Accessed& data = accessed_[access.data.index];
             return data.number == number_ && (data.changed || access.mode != AccessMode::read);
           });
  }

 private:
  struct Accessed {
    /// Number of the bucket.
    std::uint32_t number = 0;
    bool changed = false;
  };
  std::vector<Accessed> accessed_;
  std::uint32_t number_ = 1;
  /// Negative when no bucket is open.
  std::int64_t bytes_ = -1;
  std::uint32_t rule_ = 0;
  CollectiveGroup group_ = CollectiveGroup::world;
};

}  // namespace

std::optional<DataId> changed_data(const StepTask& task) {
  std::optional<DataId> changed;
  for (const Access& access : task.accesses) {
    if (access.mode == AccessMode::read) continue;
    if (changed) return std::nullopt;
    changed = access.data;
  }
  return changed;
}

std::vector<Sources> join_buckets(const StepDescription& step, const Rules& rules,
                                  std::span<const std::uint32_t> order) {
  std::vector<Sources> joined;
  joined.reserve(order.size());
  OpenBucket open(step.data.size());
  std::size_t bucket = 0;              // index of the open bucket
  std::vector<std::uint32_t> delayed;  // tasks that wait for it
  const auto close = [&] {
    open.close();
    for (const std::uint32_t i : std::exchange(delayed, {})) joined.push_back({i});
  };
  for (const std::uint32_t i : order) {
    const StepTask& task = step.tasks[i];
    const std::uint32_t rule = rules.of_task[i];
    const std::int64_t bucket_bytes = rules.rules[rule].bucket_bytes;
    const bool joins = task.collective == CollectiveKind::all_reduce && bucket_bytes > 0 &&
                       changed_data(task).has_value();
    const bool conflicts = open.conflicts(task);
    if (conflicts && !task.collective) {
      open.access(task);
      delayed.push_back(i);
      continue;
    }
    if (task.collective && (conflicts || !joins || !open.takes(task, rule, bucket_bytes))) close();

    Sources sources;
    if (joins && open.is_open()) sources = std::exchange(joined[bucket], {});
    sources.push_back(i);
    if (joins) {
      bucket = joined.size();
      open.add(task, rule);
    }
    joined.push_back(std::move(sources));
  }
  close();
  std::erase_if(joined, [](const Sources& sources) { return sources.empty(); });
  return joined;
}

}  // namespace hocket::partitioning
