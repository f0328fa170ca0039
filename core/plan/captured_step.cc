#include "core/plan/captured_step.h"

#include <algorithm>
#include <utility>

#include "core/plan/dependency_graph.h"

namespace hocket {
namespace {

/// Returns for each task the tasks that wait for it: `index` in the same launch, or size + `index`
/// in the next.
std::vector<std::vector<std::uint32_t>> successors_of(std::span<const CapturedStep::Task> tasks) {
  // Two launches of which no task ever finishes contain every edge that later launches can have: a
  // launch waits only for itself and for the launch before, which accesses the same data.
  struct NoFields {};
  DependencyGraph<NoFields> graph;
  for (int launch = 0; launch < 2; ++launch) {
    for (const CapturedStep::Task& task : tasks) {
      for (const Access& access : task.accesses)
        while (graph.data_size() <= access.data.index) graph.add_data();
      graph.add(task.accesses);
    }
  }
  std::vector<std::vector<std::uint32_t>> successors(tasks.size());
  for (std::uint32_t index = 0; index < tasks.size(); ++index) {
    auto& of_task = successors[index];
    graph.for_each_successor(index, [&](std::uint32_t slot) { of_task.push_back(slot); });
    std::sort(of_task.begin(), of_task.end());
    of_task.erase(std::unique(of_task.begin(), of_task.end()), of_task.end());
  }
  return successors;
}

/// Returns the tasks in the order in which they become ready, FIFO.
std::vector<std::uint32_t> order_of_readiness(
    const std::vector<std::vector<std::uint32_t>>& successors) {
  std::vector<std::uint32_t> waits(successors.size());
  for (const auto& of_task : successors)
    for (const std::uint32_t successor : of_task)
      if (successor < waits.size()) ++waits[successor];
  std::vector<std::uint32_t> order;
  order.reserve(waits.size());
  for (std::uint32_t index = 0; index < waits.size(); ++index)
    if (waits[index] == 0) order.push_back(index);
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::uint32_t successor : successors[order[next]])
      if (successor < waits.size() && --waits[successor] == 0) order.push_back(successor);
  }
  HOCKET_CHECK(order.size() == successors.size(), "tasks wait for each other in a circle");
  return order;
}

}  // namespace

CapturedStep::CapturedStep(std::vector<Task> tasks)
    : tasks_(std::move(tasks)), size_(static_cast<std::uint32_t>(tasks_.size())) {
  collectives_ = static_cast<std::uint32_t>(
      std::ranges::count_if(tasks_, [](const Task& task) { return task.is_collective; }));
  const auto by_task = successors_of(tasks_);
  indices_ = order_of_readiness(by_task);
  slots_.resize(size());
  for (std::uint32_t slot = 0; slot < size(); ++slot) slots_[indices_[slot]] = slot;

  edges_.resize(size() + 1);
  for (std::uint32_t slot = 0; slot < size(); ++slot) {
    edges_[slot].first_successor = static_cast<std::uint32_t>(successors_.size());
    for (const std::uint32_t successor : by_task[indices_[slot]]) {
      const bool is_within = successor < size();
      const std::uint32_t waiting = slots_[is_within ? successor : successor - size()];
      successors_.push_back(is_within ? waiting : waiting + size());
      ++(is_within ? edges_[waiting].waits_within : edges_[waiting].waits_before);
    }
  }
  edges_[size()].first_successor = static_cast<std::uint32_t>(successors_.size());
}

}  // namespace hocket
