#include "core/programs/urgent_order.h"

#include <algorithm>

#include "core/collective/part_sizes.h"

namespace hocket {

UrgentOrder::UrgentOrder(std::shared_ptr<const JobFold> fold,
                         std::vector<std::shared_ptr<const CapturedStep>> captured,
                         std::int64_t partition_bytes)
    : fold_(std::move(fold)),
      captured_(std::move(captured)),
      partition_bytes_(partition_bytes),
      numbers_(captured_.size()),
      communications_(captured_.size()) {
  for (std::uint32_t rank = 0; rank < captured_.size(); ++rank) {
    watchers_.emplace_back(this, rank);
    std::uint32_t number = 0;
    for (const CapturedStep::Task& task : captured_[rank]->tasks()) {
      communications_[rank].push_back(0);
      if (!task.is_collective) continue;
      communications_[rank].back() = fold_->begun[rank][number];
      numbers_[rank].emplace(fold_->begun[rank][number], number);
      ++number;
    }
  }
}

void UrgentOrder::ready(std::uint32_t rank, TaskId id) {
  const std::uint32_t index = captured_[rank]->index_of(id);
  const CapturedStep::Task& task = captured_[rank]->task(index);
  if (!task.is_collective) return;
  // The generation of a captured task is the number of its launch.
  const Decision decision{communications_[rank][index], id.generation};
  const auto found = pending_.try_emplace({decision.launch, decision.communication}).first;
  Pending& pending = found->second;
  pending.priority = std::min(pending.priority, task.priority);
  if (++pending.ranks < fold_->communications[decision.communication].members.size()) return;
  ready_.insert({.priority = pending.priority,
                 .since = count_++,
                 .decision = decision,
                 .parts_left = part_count(task.bytes, partition_bytes_)});
  pending_.erase(found);
}

}  // namespace hocket
