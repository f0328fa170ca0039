#include "core/plan.h"

#include <algorithm>

#include "core/partition.h"

namespace hocket {

Plan::Plan(const PlanOptions& options) : options_(options) {
  HOCKET_CHECK(options.partition_bytes > 0 && options.credit_bytes > 0,
               "validate the configuration first");
}

TaskId Plan::submit(const DependencyGraph::Added& added, const Task& task) {
  if (added.task.slot >= tasks_.size()) tasks_.resize(added.task.slot + 1);
  tasks_[added.task.slot] = task;
  if (added.ready) became_ready(added.task.slot);
  return added.task;
}

TaskId Plan::submit_compute(std::uint32_t priority, std::span<const Access> accesses) {
  return submit(graph_.add(accesses), {priority, kCompute});
}

TaskId Plan::submit_collective(std::uint32_t priority, std::span<const Access> accesses,
                               std::int64_t bytes) {
  HOCKET_CHECK(bytes >= 0, "a collective of negative size");
  if (free_collectives_.empty()) {
    free_collectives_.push_back(static_cast<std::uint32_t>(collectives_.size()));
    collectives_.emplace_back();
  }
  const std::uint32_t index = free_collectives_.back();
  free_collectives_.pop_back();
  const std::int64_t parts = part_count(bytes, options_.partition_bytes);
  collectives_[index] = {.number = submitted_collectives_++,
                         .ready = false,
                         .bytes = bytes,
                         .part_bytes = part_bytes(bytes, options_.partition_bytes),
                         .next_offset = 0,
                         .parts_to_start = parts,
                         .parts_unfinished = parts};
  const auto added = graph_.add(accesses);
  if (options_.order != PartOrder::priority) waiting_.push_back({added.task.slot});
  return submit(added, {priority, index});
}

void Plan::became_ready(std::uint32_t slot) {
  const Task task = tasks_[slot];
  if (task.collective == kCompute) {
    ready_computes_.push(task.priority, slot);
    return;
  }
  collective(slot).ready = true;
  if (options_.order == PartOrder::priority) ready_collectives_.push(task.priority, slot);
}

std::optional<TaskId> Plan::next_compute() {
  if (ready_computes_.empty()) return std::nullopt;
  return graph_.id_of(ready_computes_.pop());
}

std::optional<std::uint32_t> Plan::due_collective() const {
  switch (options_.order) {
    case PartOrder::priority:
      if (ready_collectives_.empty()) return std::nullopt;
      return ready_collectives_.front();
    case PartOrder::fifo:
      if (waiting_.empty()) return std::nullopt;
      return waiting_.front().slot;
    case PartOrder::announced: {
      if (announced_.empty()) return std::nullopt;
      HOCKET_CHECK(announced_.front() >= first_waiting_, "a collective was announced too often");
      // Not submitted yet: this rank is behind the one that announced it.
      if (announced_.front() >= first_waiting_ + waiting_.size()) return std::nullopt;
      const Waiting& next = waiting_[announced_.front() - first_waiting_];
      HOCKET_CHECK(!next.exhausted, "a collective was announced too often");
      return next.slot;
    }
  }
  return std::nullopt;
}

std::optional<PartDecision> Plan::next_part() {
  const auto slot = due_collective();
  if (!slot) return std::nullopt;
  Collective& due = collective(*slot);
  if (!due.ready) return std::nullopt;
  const std::int64_t bytes = std::min(due.part_bytes, due.bytes - due.next_offset);
  if (parts_in_flight_ > 0 && in_flight_bytes_ + bytes > options_.credit_bytes) return std::nullopt;

  const PartDecision part{graph_.id_of(*slot), due.number, due.next_offset, bytes};
  in_flight_bytes_ += bytes;
  ++parts_in_flight_;
  due.next_offset += bytes;
  --due.parts_to_start;
  part_was_taken(*slot);
  return part;
}

void Plan::part_was_taken(std::uint32_t slot) {
  const Collective& taken = collective(slot);
  const bool exhausted = taken.parts_to_start == 0;
  if (options_.order == PartOrder::priority) {
    if (exhausted) ready_collectives_.pop();
    return;
  }
  if (options_.order == PartOrder::announced) announced_.pop_front();
  if (exhausted) waiting_[taken.number - first_waiting_].exhausted = true;
  while (!waiting_.empty() && waiting_.front().exhausted) {
    waiting_.pop_front();
    ++first_waiting_;
  }
}

void Plan::finish_compute(TaskId task) {
  graph_.finish(task, [this](std::uint32_t slot) { became_ready(slot); });
}

bool Plan::finish_part(TaskId id, std::int64_t bytes) {
  HOCKET_CHECK(graph_.is_live(id), "a part of no live collective was finished");
  HOCKET_CHECK(parts_in_flight_ > 0 && in_flight_bytes_ >= bytes,
               "more parts finished than started");
  in_flight_bytes_ -= bytes;
  --parts_in_flight_;
  if (--collective(id.slot).parts_unfinished > 0) return false;
  free_collectives_.push_back(tasks_[id.slot].collective);
  graph_.finish(id, [this](std::uint32_t slot) { became_ready(slot); });
  return true;
}

void Plan::announce(std::span<const std::uint64_t> collectives) {
  HOCKET_CHECK(options_.order == PartOrder::announced, "this plan decides its own order");
  announced_.insert(announced_.end(), collectives.begin(), collectives.end());
}

}  // namespace hocket
